"""What becomes a release, and everything that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError, digest
from pipelines.engine.settings import served_name
from registry.evidence import EngineRecord
from registry.release.files import release_yaml
from registry.release.load_summary import load_summary
from registry.release.release import Release, read_release
from registry.release.release_of import Additions, release_of
from tests.registry.load_records import load_profile
from tests.registry.release.release_material import (
    MODEL,
    SERVES,
    Material,
    engine_record,
    engine_settings,
    execution,
    sha,
)


def released(material: Material, scene: str = "qa", additions: Additions | None = None) -> Release:
    return release_of(scene, material.promotion(), material.bundle(), additions)


def test_a_release_says_what_serves_on_which_numerics_and_why() -> None:
    material = Material()
    release = released(material)
    assert (release.model.name, release.model.version) == (MODEL, 2)
    assert release.model.uri == f"models:/{MODEL}/2"
    served = release.served
    assert served.served_name == served_name(MODEL, sha("awq-int4"))
    assert (served.weights_digest, served.served_digest) == (sha("awq-int4"), sha("awq-int4"))
    assert served.path == "runs/a100/checkpoints/awq-int4"
    assert served.execution == execution("awq-int4")
    assert (release.tool_mode.dialect, release.tool_mode.parser) == ("hermes", "hermes")
    assert release.prompts.template_sha256 == sha("template")
    evidence = release.evidence
    assert (evidence.outcome, evidence.reason) == ("PASS", "awq-int4 on qa: PASS")
    assert evidence.decision_sha256 == digest(material.decision())
    assert (evidence.policy_sha256, evidence.judge_version) == (sha("policy"), "1.4.0")
    assert evidence.suites["qa"].items == 640
    assert (release.canary, release.guardrails, release.serving) == (None, None, None)


def test_every_measured_flag_is_there_and_nothing_of_the_machine() -> None:
    served = released(Material()).served
    assert served.flags == [
        *("--dtype", "bfloat16", "--max-model-len", "8192", "--max-num-seqs", "64"),
        *("--max-num-batched-tokens", "8192", "--enable-prefix-caching", "--generation-config", "vllm"),
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
        *("--gpu-memory-utilization", "0.92", "--scheduling-policy", "fcfs"),
    ]
    assert served.environment == {"VLLM_NO_USAGE_STATS": "1", "VLLM_USE_DEEP_GEMM": "0"}


def test_the_baseline_steps_in_and_has_nothing_behind_it() -> None:
    fallback = released(Material()).fallback
    assert fallback is not None
    assert (fallback.variant, fallback.weights_digest) == ("bf16", sha("bf16"))
    assert fallback.path == "runs/a100/checkpoints/bf16"
    contract = released(Material(), "contract")
    assert (contract.served.variant, contract.fallback, contract.evidence.outcome) == ("bf16", None, "baseline")


def test_the_baseline_may_serve_a_scene_that_does_not_list_it() -> None:
    material = Material(verdicts={"qa": [("awq-int4", "FAIL")]}, serves={"qa": "bf16"})
    release = released(material)
    assert (release.served.variant, release.evidence.reason) == ("bf16", "bf16 is chosen")


def test_the_caller_adds_plan_guardrails_and_summary_of_load() -> None:
    gated = engine_record("fp8").shared
    other = load_summary("qa", load_profile("fp8", sha("fp8"), execution("fp8")), gated)
    added = Additions(canary={"salt": "x"}, guardrails={"margin_pp": 0.5}, serving=other)
    release = released(Material(), additions=added)
    assert (release.canary, release.guardrails, release.serving) == (added.canary, added.guardrails, added.serving)


def with_engine(variant: str, **changed: Any) -> Callable[[Material], None]:
    def change(material: Material) -> None:
        material.engines[variant] = material.engines[variant].model_copy(update=changed)

    return change


def without_engine(variant: str) -> Callable[[Material], None]:
    return lambda material: material.engines.__delitem__(variant)


def execution_of(**changed: Any) -> dict[str, Any]:
    return {"execution": execution("awq-int4").model_copy(update=changed)}


def argv_of(engine: EngineRecord, *dropped: str) -> list[str]:
    return [word for word in engine.argv if word not in dropped]


AWQ = engine_record("awq-int4")
REFUSED: list[tuple[str, Callable[[Material], object], str]] = [
    ("other weights promoted", lambda m: m.serves.update(qa="awq-older"), "the decision tested none"),
    ("a failed variant", lambda m: m.serves.update(tools="awq-int4"), "this decision has FAIL for it, not PASS"),
    ("no candidate", lambda m: m.serves.update(contract="fp8"), "this decision has no verdict for it, not PASS"),
    ("not promoted", lambda m: m.serves.pop("qa"), "nothing was promoted for it"),
    ("not decided", lambda m: m.verdicts.pop("qa"), "the decision says nothing of this scene"),
    ("undecidable", lambda m: setattr(m, "exit_code", 2), "it could not be made: qa: 9 items unjudged"),
    ("not measured", without_engine("awq-int4"), "awq-int4 was not measured"),
    ("no fallback measured", without_engine("bf16"), "bf16 was not measured"),
    ("other weights served", with_engine("awq-int4", weights_digest=sha("x")), "the decision tested"),
    ("another kernel", with_engine("awq-int4", **execution_of(linear_kernel="ExllamaLinearKernel")), "execution class"),
    ("other bits", with_engine("awq-int4", **execution_of(activation_bits=8)), "execution class"),
    ("another card", with_engine("awq-int4", **execution_of(device="NVIDIA H200")), "execution class"),
    ("dequantized", with_engine("awq-int4", **execution_of(note="w8a16-dequantized")), "execution class"),
    ("the fallback elsewhere", with_engine("bf16", **execution_of(device="cpu")), "execution class"),
    ("another name", with_engine("awq-int4", served_name="qwen@000000000000"), "it answered to qwen@000000000000"),
    ("no model", with_engine("awq-int4", argv=argv_of(AWQ, "--model")), "no --model and its path"),
    ("prefix caching unsaid", with_engine("awq-int4", argv=argv_of(AWQ, "--enable-prefix-caching")), "is not stated"),
    ("a path for a model", lambda m: setattr(m, "model", "../evil"), "answered to"),
]


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_nothing_untested_is_released(change: Callable[[Material], object], message: str) -> None:
    material = Material()
    change(material)
    with pytest.raises(InputError, match=message):
        for scene in SERVES:
            released(material, scene)


def test_before_it_was_changed_every_scene_was_released() -> None:
    assert [released(Material(), scene).served.variant for scene in SERVES] == list(SERVES.values())


def test_the_weights_that_were_promoted_are_those_that_were_tested() -> None:
    material = Material()
    promotion = material.promotion()
    held = promotion.scenes["qa"].model_copy(update={"weights_digest": sha("older build")})
    promotion = promotion.model_copy(update={"scenes": {"qa": held}})
    with pytest.raises(InputError, match=f"awq-int4 serves it with weights {sha('older build')}, the decision tested"):
        release_of("qa", promotion, material.bundle())


def test_a_promotion_of_another_decision_is_refused() -> None:
    material = Material()
    promotion = material.promotion()
    material.verdicts["tools"] = [("fp8", "PASS"), ("bf16", "PASS")]
    with pytest.raises(InputError, match="made from another decision"):
        release_of("qa", promotion, material.bundle())


@pytest.mark.parametrize("scene", ["a/b", "..", "a b", "", "x" * 61, "qa\n"])
def test_a_scene_that_cannot_be_a_folder_is_refused(scene: str) -> None:
    material = Material(verdicts={scene: [("bf16", "PASS")]}, serves={scene: "bf16"})
    with pytest.raises(InputError, match="it cannot be released: scene"):
        released(material, scene)


def test_a_release_comes_back_from_its_file(tmp_path: Path) -> None:
    model = "通义千问-32b"
    engines = {name: engine_record(name, model=model) for name in ("bf16", "awq-int4", "fp8")}
    verdicts: Any = {"客服": [("awq-int4", "PASS")]}
    material = Material(verdicts=verdicts, serves={"客服": "awq-int4"}, engines=engines, model=model)
    release = released(material, "客服", Additions(canary={"steps": [{"share": 0.05}], "salt": "1e5"}))
    path = tmp_path / "release.yaml"
    path.write_text(release_yaml(release), "utf-8")
    assert read_release(path) == release
    assert "客服" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [("scene: [", "not YAML"), ("scene: qa", "model: Field required"), ("extra: 1", "unknown key extra")],
)
def test_a_broken_release_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "release.yaml"
    with pytest.raises(InputError, match="no such file"):
        read_release(path)
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_release(path)


def test_prefix_caching_that_was_off_stays_off() -> None:
    engines = {name: engine_record(name, engine_settings(prefix_caching=False)) for name in ("bf16", "awq-int4", "fp8")}
    flags = released(Material(engines=engines)).served.flags
    assert "--no-enable-prefix-caching" in flags
    assert "--enable-prefix-caching" not in flags
