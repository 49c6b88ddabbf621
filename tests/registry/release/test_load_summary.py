"""What a release says of load: that of the variant that serves, for its scene, and nothing that was not measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from registry.load_profile import Flags, Interval, Saturation
from registry.release.files import release_yaml
from registry.release.load_summary import (
    DEQUANTIZED,
    MEASURED,
    NOT_APPLIED,
    NOT_DECIDED,
    OTHERWISE,
    LoadSummary,
    load_summary,
)
from registry.release.release import Release, read_release
from registry.release.release_of import release_of
from tests.registry.load_records import (
    BUDGET,
    DEFAULT,
    MACHINE,
    SMALLER,
    cell,
    load_profile,
    serving,
    tuning,
    unmeasured,
)
from tests.registry.release.release_material import Material, engine_record, execution, sha

GATED = engine_record("fp8").shared  # max_num_seqs 64, max_num_batched_tokens 8192
AS_GATED = Flags(max_num_batched_tokens=8192, max_num_seqs=64)


def summary(scene: str = "tools", **changes: Any) -> LoadSummary:
    return load_summary(scene, load_profile("fp8", sha("fp8"), execution("fp8"), **changes), GATED)


def released(scene: str) -> Release:
    loads = {name: load_profile(name, sha(name), execution(name), kv_tokens=1) for name in ("fp8", "bf16")}
    material = Material(serving={name: serving(load) for name, load in loads.items()} | {"x": unmeasured("x")})
    return release_of(scene, material.promotion(), material.bundle())


def test_it_holds_the_cell_within_the_budget_and_this_scenes_tail() -> None:
    found = summary()
    assert (found.basis, found.hardware, found.budget, found.flags) == ("measured", MACHINE, BUDGET, DEFAULT)
    within = found.within_budget
    assert within is not None
    assert (within.rate, within.hit_rate, within.preemptions) == (2.0, 0.25, 0)
    assert within.requests_s == cell(2.0).requests_s and within.output_tok_s == cell(2.0).output_tok_s
    assert within.latency == cell(2.0).latency["all"] and within.scene_latency == cell(2.0).latency["tools"]
    assert found.saturation is not None
    assert (found.saturation.concurrency, found.saturation.requests_s.estimate) == (8, 4.0)


@pytest.mark.parametrize("scene", ["contract", "all", "short", "long"])
def test_a_scene_that_was_not_told_apart_has_no_tail_of_its_own(scene: str) -> None:
    within = summary(scene).within_budget
    assert within is not None and within.latency is not None and within.scene_latency is None


def test_nothing_within_the_budget_and_no_saturation_are_null() -> None:
    found = summary(cells=[cell(1.0, 5000)], saturation=Saturation(concurrency=4, cells=[]))
    assert (found.within_budget, found.saturation) == (None, None)


NOTES: list[tuple[dict[str, Any], list[str]]] = [
    ({"flags": AS_GATED, "tuning": None}, [MEASURED]),
    ({"flags": AS_GATED}, [MEASURED, NOT_APPLIED]),
    ({"flags": AS_GATED, "tuning": tuning(better=False)}, [MEASURED, NOT_DECIDED]),
    ({"tuning": None}, [OTHERWISE]),
    (
        {
            "flags": AS_GATED,
            "tuning": None,
            "execution": execution("fp8").model_copy(update={"note": "w8a16-dequantized"}),
        },
        [MEASURED, DEQUANTIZED],
    ),
]


@pytest.mark.parametrize(("changes", "notes"), NOTES)
def test_the_note_says_what_the_numbers_hold_for(changes: dict[str, Any], notes: list[str]) -> None:
    execution_ = changes.pop("execution", execution("fp8"))
    load = load_profile("fp8", sha("fp8"), execution_, **changes)
    assert load_summary("qa", load, GATED).note == " ".join(notes)


def test_tuned_flags_are_there_only_where_they_are_better() -> None:
    found = summary().tuned
    assert found is not None
    assert (found.flags, found.gain) == (SMALLER, Interval(estimate=0.5, lower=0.25, upper=0.75))
    assert summary(tuning=tuning(better=False)).tuned is None
    assert summary(tuning=None).tuned is None


def test_a_release_has_that_of_what_serves_and_keeps_the_flags_of_the_gate() -> None:
    tools = released("tools")
    assert tools.serving == load_summary("tools", load_profile("fp8", sha("fp8"), execution("fp8")), GATED)
    assert tools.served.flags[tools.served.flags.index("--max-num-seqs") + 1] == "64"
    assert released("contract").serving is not None
    assert released("qa").serving is None


def test_a_variant_that_says_why_it_has_no_load_profile_has_none_in_its_release() -> None:
    material = Material(serving={"fp8": unmeasured("fp8")})
    assert release_of("tools", material.promotion(), material.bundle()).serving is None


def test_a_release_comes_back_from_its_file_and_one_without_the_key_is_read(tmp_path: Path) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(release_yaml(released("tools")), "utf-8")
    assert read_release(path) == released("tools")
    text = release_yaml(released("qa"))
    path.write_text(text.removesuffix("serving: null\n"), "utf-8")
    assert read_release(path) == released("qa") and text.endswith("serving: null\n")


@pytest.mark.parametrize("path", sorted(Path("evidence").glob("*/release/*/release.yaml")), ids=str)
def test_published_releases_stay_valid(path: Path) -> None:
    assert read_release(path).scene == path.parent.name
