"""A small decided and promoted run in memory: three variants on an A100, made up for the tests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalsets.records import digest
from pipelines.engine.settings import engine_argv, recorded_argv, served_name
from pipelines.engine_modes import LaunchEngine
from quantize.manifest import Manifest
from registry.evidence import EngineRecord, ExecutionClass, Hardware, SharedSettings, SuiteDigest
from registry.gate.decision import CandidateVerdict, Decision, Outcome, SceneDecision
from registry.load_profile import Serving
from registry.release.backends import Backends
from registry.store.bundle import Bundle
from registry.store.promotion import Promotion, ScenePromotion

MODEL = "qwen2.5-32b-instruct"
BASELINE = "bf16"
BITS = {"bf16": 16, "awq-int4": 4, "fp8": 8}
KERNELS = {"bf16": "UnquantizedLinear", "awq-int4": "MarlinLinearKernel", "fp8": "MarlinFP8ScaledMMLinearKernel"}
VERDICTS: dict[str, list[tuple[str, Outcome]]] = {
    "qa": [("awq-int4", "PASS"), ("fp8", "PASS"), ("bf16", "PASS")],
    "tools": [("awq-int4", "FAIL"), ("fp8", "PASS"), ("bf16", "PASS")],
    "contract": [("bf16", "PASS")],
}
SERVES = {"qa": "awq-int4", "tools": "fp8", "contract": "bf16"}
BACKENDS = Backends(
    backends={
        "awq-int4": ["http://awq-1.llm.svc.cluster.local:8000", "http://awq-2.llm.svc.cluster.local:8000"],
        "fp8": ["http://10.0.0.8:8000"],
        "bf16": ["https://bf16.llm.example.com"],
    }
)


def sha(text: str) -> str:
    """A digest for the test, as long and as lowercase as a real one."""
    return hashlib.sha256(text.encode()).hexdigest()


def engine_settings(**changed: Any) -> LaunchEngine:
    """The engine of the profile that the run was made under."""
    settings: dict[str, Any] = {
        "mode": "launch",
        "command": [".venvs/vllm/bin/python", "-m", "vllm.entrypoints.openai.api_server"],
        "device": "cuda",
        "dtype": "bfloat16",
        "max_model_len": 8192,
        "max_num_seqs": 64,
        "max_num_batched_tokens": 8192,
        "prefix_caching": True,
        "flags": ["--gpu-memory-utilization", "0.92", "--scheduling-policy=fcfs"],
        "tool_parser": "hermes",
        "dialect": "hermes",
        "concurrency": 64,
        "start_timeout_s": 1800,
        "request_timeout_s": 300,
    }
    return LaunchEngine.model_validate(settings | changed)


def execution(variant: str) -> ExecutionClass:
    """What the variant was measured on."""
    return ExecutionClass(
        device="NVIDIA A100-SXM4-80GB",
        compute_capability="8.0",
        engine="vllm",
        engine_version="0.32.0",
        linear_kernel=KERNELS[variant],
        weight_bits=BITS[variant],
        activation_bits=16,
        dtype="bfloat16",
    )


def engine_record(variant: str, engine: LaunchEngine | None = None, model: str = MODEL) -> EngineRecord:
    """How a variant was served, its command line made by the pipeline's own function."""
    chosen, weights = engine or engine_settings(), sha(variant)
    name = served_name(model, weights)
    asked = SuiteDigest(file_sha256=sha("qa.jsonl"), items=640, ids_sha256=sha("ids"), split="release")
    return EngineRecord(
        profile="a100",
        run=variant,
        variant=variant,
        weights_digest=weights,
        served_digest=weights,
        served_name=name,
        mode="launch",
        execution=execution(variant),
        shared=SharedSettings(
            suites={"qa": asked},
            toolsets_sha256=sha("toolsets"),
            template_sha256=sha("template"),
            prompts_sha256=sha("prompts"),
            sampling_sha256=sha("sampling"),
            engine="vllm",
            engine_version="0.32.0",
            device="NVIDIA A100-SXM4-80GB",
            compute_capability="8.0",
            dtype=chosen.dtype,
            attention_backend="FLASH_ATTN",
            max_model_len=chosen.max_model_len,
            max_num_seqs=chosen.max_num_seqs,
            max_num_batched_tokens=chosen.max_num_batched_tokens,
            prefix_caching=chosen.prefix_caching,
        ),
        tool_parser=chosen.tool_parser,
        dialect=chosen.dialect,
        order_seed=1,
        generation_key=sha(f"key {variant}"),
        argv=recorded_argv(engine_argv(chosen, Path("runs/a100/checkpoints") / variant, name, 4321)),
        environment={"CUDA_VISIBLE_DEVICES": "0", "VLLM_NO_USAGE_STATS": "1", "VLLM_USE_DEEP_GEMM": "0"},
        kernel_lines=[],
        cache_config={},
        responses={"qa": sha("responses")},
        hardware=Hardware(processor="x", cores=16, memory_bytes=1, accelerator="NVIDIA A100-SXM4-80GB"),
        wall_s={},
    )


@dataclass
class Material:
    """A decision, what was promoted by it, and the evidence; each part may be changed before it is asked for."""

    verdicts: dict[str, list[tuple[str, Outcome]]] = field(default_factory=lambda: dict(VERDICTS))
    serves: dict[str, str] = field(default_factory=lambda: dict(SERVES))
    engines: dict[str, EngineRecord] = field(default_factory=lambda: {name: engine_record(name) for name in BITS})
    exit_code: int = 0
    model: str = MODEL
    serving: dict[str, Serving] = field(default_factory=dict)

    def decision(self) -> Decision:
        """What was decided."""
        return Decision.model_validate(
            {
                "profile": "a100",
                "baseline": BASELINE,
                "scenes": [_scene(scene, verdicts) for scene, verdicts in self.verdicts.items()],
                "broken": ["qa: 9 items unjudged"] if self.exit_code == 2 else [],
                "exit_code": self.exit_code,
                "policy_sha256": sha("policy"),
                "weights": {name: sha(name) for name in BITS},
                "executions": {name: execution(name) for name in BITS},
                "inputs": {},
            }
        )

    def promotion(self) -> Promotion:
        """What the aliases held afterwards."""
        numbers = {name: number for number, name in enumerate(BITS, 1)}
        return Promotion(
            model=self.model,
            decision_sha256=digest(self.decision()),
            scenes={
                scene: ScenePromotion(variant=name, weights_digest=sha(name), version=numbers.get(name, 9))
                for scene, name in self.serves.items()
            },
        )

    def bundle(self) -> Bundle:
        """The decision with its evidence."""
        manifests = {name: _manifest(name) for name in BITS}
        return Bundle(
            decision=self.decision(),
            comparisons={},
            engines=self.engines,
            manifests=manifests,
            metrics={},
            judge_version="1.4.0",
            artifacts={},
            serving=self.serving,
        )


def _scene(scene: str, verdicts: list[tuple[str, Outcome]]) -> SceneDecision:
    made = [
        CandidateVerdict(candidate=name, outcome=outcome, reason=f"{name} on {scene}: {outcome}", gates=[])
        for name, outcome in verdicts
    ]
    chosen = next((name for name, outcome in verdicts if outcome == "PASS"), BASELINE)
    return SceneDecision(scene=scene, chosen=chosen, reason=f"{chosen} is chosen", require="none", candidates=made)


def _manifest(variant: str) -> Manifest:
    return Manifest(
        variant=variant,
        backend="test",
        base_repo="org/model",
        base_revision="0" * 40,
        base_digest=sha("base"),
        recipe=f"{variant}.yaml",
        recipe_text="",
        recipe_sha256=sha("recipe"),
        calibration_sha256=None,
        weight_bits=BITS[variant],
        activation_bits=16,
        scheme="test",
        versions={},
        device="cuda",
        warnings=[],
        skipped_mappings=0,
        awq_error={},
        files={},
        weights_digest=sha(variant),
        weight_bytes=1,
        wall_s=1.0,
    )
