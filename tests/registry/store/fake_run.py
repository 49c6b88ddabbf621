"""A small finished run on disk, consistent from the decision down to the responses, with checkpoints of a few bytes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from evalsets.records import digest, file_sha256, write_record, write_rows
from evalsets.responses import Response
from judges.metrics import Metrics, SuiteMetrics
from judges.verdicts import Verdict
from pipelines.layout import Layout
from quantize.manifest import Manifest, file_digests, weights_digest
from registry.evidence import (
    Comparison,
    EngineRecord,
    ExecutionClass,
    Hardware,
    PairedTable,
    SharedSettings,
    SuiteComparison,
    SuiteDigest,
    Transition,
)
from registry.gate.decision import CandidateVerdict, Decision, GateResult, Outcome, SceneDecision

AGAIN = "baseline-again"
BASELINE = "bf16"
SOME = digest("anything")
METRICS = Metrics(
    suites={
        "qa": SuiteMetrics(
            n=10,
            judged=10,
            strict_ok=7,
            tolerant_ok=8,
            strict_rate=0.7,
            tolerant_rate=0.8,
            primary={"json_syntax.trailing_comma": 2},
            families={"json_syntax": 2},
            parser_disagreement=None,
            mean_completion_tokens=1.5,
            domains={},
            tags={},
        )
    }
)
Verdicts = dict[str, list[tuple[str, Outcome]]]  # scene -> candidates with their outcomes, in the policy's order


@dataclass
class FakeRun:
    """`runs/<profile>/` of a measured model. `build` stands for the weights: another build is another digest."""

    layout: Layout
    verdicts: Verdicts
    device: str = "cpu"
    build: str = "1"
    reason: str = "measured"
    policy_sha256: str = SOME
    exit_code: int = 0
    variants: list[str] = field(default_factory=lambda: [BASELINE, "awq-int4", "fp8"])

    def write(self) -> Decision:
        """Write every file of the run and return its decision."""
        for variant in self.variants:
            self._checkpoint(variant)
        for run in [*self.variants, AGAIN]:
            self._answers(run)
        for run in [*self.variants[1:], AGAIN]:
            self._comparison(run)
        decision = self.decision()
        write_record(self.layout.decision, decision)
        self.layout.report.write_text("# Report\n")
        return decision

    def decision(self) -> Decision:
        """The decision over what lies on the disk."""
        runs = [*self.variants, AGAIN]
        files = [self.layout.engine(run) for run in runs] + [self.layout.comparison(run) for run in runs[1:]]
        files += [self.layout.manifest(variant) for variant in self.variants]
        return Decision.model_validate(
            {
                "profile": self.layout.root.name,
                "baseline": BASELINE,
                "scenes": [self._scene(scene, candidates) for scene, candidates in self.verdicts.items()],
                "broken": ["qa: unjudged"] if self.exit_code == 2 else [],
                "exit_code": self.exit_code,
                "policy_sha256": self.policy_sha256,
                "weights": {variant: self.weights(variant) for variant in self.variants},
                "executions": {variant: self._execution() for variant in self.variants},
                "inputs": self._digests(files),
            }
        )

    def weights(self, variant: str) -> str:
        """The weights digest of a checkpoint on the disk."""
        return weights_digest(file_digests(self.layout.checkpoint(variant)))

    def _checkpoint(self, variant: str) -> None:
        folder = self.layout.checkpoint(variant)
        (folder / "tokenizer").mkdir(parents=True, exist_ok=True)
        (folder / "model.safetensors").write_text(f"{variant} {self.build}")
        (folder / "tokenizer" / "vocab.json").write_text("{}")
        manifest = Manifest(
            variant=variant,
            backend="test",
            base_repo="org/model",
            base_revision="0" * 40,
            base_digest=SOME,
            recipe=f"{variant}.yaml",
            recipe_text="# made by the test",
            recipe_sha256=SOME,
            calibration_sha256=None,
            weight_bits=8,
            activation_bits=16,
            scheme="test",
            versions={},
            device="cpu",
            warnings=[],
            skipped_mappings=0,
            awq_error={},
            files=file_digests(folder),
            weights_digest=self.weights(variant),
            weight_bytes=100,
            wall_s=1.0,
        )
        self.layout.manifest(variant).write_text(manifest.model_dump_json(indent=2))

    def _answers(self, run: str) -> None:
        responses, verdicts = self.layout.responses(run, "qa"), self.layout.verdicts(run, "qa")
        write_rows(responses, [Response(item_id="qa-001", suite="qa", status="ok", raw=f"42 {self.build}")])
        write_rows(verdicts, [Verdict(item_id="qa-001", suite="qa", status="judged", strict_ok=True, tolerant_ok=True)])
        write_record(self.layout.metrics(run), METRICS)
        variant = BASELINE if run == AGAIN else run
        write_record(
            self.layout.engine(run),
            EngineRecord(
                profile=self.layout.root.name,
                run=run,
                variant=variant,
                weights_digest=self.weights(variant),
                served_digest=self.weights(variant),
                served_name="model",
                mode="launch",
                execution=self._execution(),
                shared=self._shared(),
                tool_parser=None,
                dialect="bare",
                order_seed=1,
                generation_key=SOME,
                argv=[],
                environment={},
                kernel_lines=[],
                cache_config={},
                responses={"qa": file_sha256(responses)},
                hardware=Hardware(processor="x", cores=2, memory_bytes=1),
                wall_s={},
            ),
        )

    def _comparison(self, run: str) -> None:
        table = PairedTable(n=10, both_right=6, losses=2, gains=1, both_wrong=1)
        suite = SuiteComparison(
            suite="qa",
            strict=table,
            tolerant=table,
            pessimistic=table,
            unjudged=[],
            identical=3,
            baseline_tokens=10,
            candidate_tokens=11,
            transitions=[
                Transition(baseline="ok", candidate="ok", count=6),
                Transition(baseline="ok", candidate="json_syntax.trailing_comma", count=2),
            ],
            new_losses=[],
            gained=[],
        )
        files = [
            path for name in (BASELINE, run) for path in (self.layout.engine(name), self.layout.verdicts(name, "qa"))
        ]
        write_record(
            self.layout.comparison(run),
            Comparison(
                baseline=BASELINE, candidate=run, suites={"qa": suite}, mismatches=[], inputs=self._digests(files)
            ),
        )

    def _scene(self, scene: str, candidates: list[tuple[str, Outcome]]) -> SceneDecision:
        verdicts = [
            CandidateVerdict(
                candidate=candidate,
                outcome=outcome,
                reason=f"{candidate}: {outcome}, {self.reason}",
                gates=[]
                if candidate == BASELINE
                else [
                    GateResult(test="noninferiority", suite="qa", outcome=outcome, reason=self.reason, lower_pp=-1.5)
                ],
            )
            for candidate, outcome in candidates
        ]
        chosen = next((candidate for candidate, outcome in candidates if outcome == "PASS"), BASELINE)
        return SceneDecision(scene=scene, chosen=chosen, reason=self.reason, require="none", candidates=verdicts)

    def _execution(self) -> ExecutionClass:
        return ExecutionClass(
            device=self.device,
            compute_capability="avx2",
            engine="vllm",
            engine_version="0.0",
            linear_kernel="Kernel",
            weight_bits=8,
            activation_bits=16,
            dtype="bfloat16",
        )

    def _shared(self) -> SharedSettings:
        return SharedSettings(
            suites={"qa": SuiteDigest(file_sha256=SOME, items=10, ids_sha256=SOME, split="release")},
            toolsets_sha256=SOME,
            template_sha256=SOME,
            prompts_sha256=SOME,
            sampling_sha256=SOME,
            engine="vllm",
            engine_version="0.0",
            device=self.device,
            compute_capability="avx2",
            dtype="bfloat16",
            attention_backend="x",
            max_model_len=1,
            max_num_seqs=1,
            max_num_batched_tokens=1,
            prefix_caching=True,
        )

    def _digests(self, files: list[Path]) -> dict[str, str]:
        return {path.relative_to(self.layout.root).as_posix(): file_sha256(path) for path in files}
