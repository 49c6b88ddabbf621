"""What a decision does to the aliases, as a table."""

from __future__ import annotations

import pytest

from evalsets.records import InputError
from pipelines.layout import Layout
from quantize.manifest import Manifest
from registry.gate.decision import Decision
from registry.store.plan import plan
from tests.registry.store.fake_run import FakeRun, Verdicts

OLD = "0" * 64  # weights that are in no decision any more
UNTRIED: Verdicts = {"qa": [("awq-int4", "INCONCLUSIVE"), ("fp8", "INCONCLUSIVE"), ("bf16", "PASS")]}

# case: verdicts in the policy order, aliases before (`old`: weights that were not measured), and after
CASES: dict[str, tuple[Verdicts, dict[str, str], dict[str, str]]] = {
    "the first PASS serves, however many follow": (
        {"qa": [("awq-int4", "PASS"), ("fp8", "PASS"), ("bf16", "PASS")]},
        {},
        {"qa": "awq-int4", "qa-candidate": "awq-int4"},
    ),
    "the candidate alias is what was measured first, not what passed": (
        {"qa": [("awq-int4", "FAIL"), ("fp8", "PASS"), ("bf16", "PASS")]},
        {},
        {"qa": "fp8", "qa-candidate": "awq-int4"},
    ),
    "nothing passes, nothing served: the baseline": (
        UNTRIED,
        {},
        {"qa": "bf16", "qa-candidate": "awq-int4"},
    ),
    "the same without the baseline in the list": (
        {"qa": [("fp8", "INCONCLUSIVE")]},
        {},
        {"qa": "bf16", "qa-candidate": "fp8"},
    ),
    "nothing passes, the holder is inconclusive: it stays": (
        UNTRIED,
        {"qa": "fp8", "qa-previous": "bf16"},
        {"qa": "fp8", "qa-previous": "bf16", "qa-candidate": "awq-int4"},
    ),
    "nothing passes, the holder was not measured: it stays": (
        UNTRIED,
        {"qa": "old"},
        {"qa": "old", "qa-candidate": "awq-int4"},
    ),
    "nothing passes, the holder fails now: the baseline": (
        {"qa": [("awq-int4", "INCONCLUSIVE"), ("fp8", "FAIL"), ("bf16", "PASS")]},
        {"qa": "fp8"},
        {"qa": "bf16", "qa-previous": "fp8", "qa-candidate": "awq-int4"},
    ),
    "another one fails: the holder stays": (
        {"qa": [("awq-int4", "FAIL"), ("fp8", "INCONCLUSIVE"), ("bf16", "PASS")]},
        {"qa": "fp8"},
        {"qa": "fp8", "qa-candidate": "awq-int4"},
    ),
    "the holder is no candidate any more: the baseline": (
        {"qa": [("fp8", "INCONCLUSIVE"), ("bf16", "PASS")]},
        {"qa": "awq-int4"},
        {"qa": "bf16", "qa-previous": "awq-int4", "qa-candidate": "fp8"},
    ),
    "the baseline as the only candidate: it serves, and there is no candidate alias": (
        {"contract": [("bf16", "PASS")]},
        {"contract": "old"},
        {"contract": "bf16", "contract-previous": "old"},
    ),
    "the baseline first: it serves, whatever passes after it": (
        {"qa": [("bf16", "PASS"), ("fp8", "PASS")]},
        {"qa": "fp8"},
        {"qa": "bf16", "qa-previous": "fp8", "qa-candidate": "fp8"},
    ),
    "a holder that passes again moves nothing": (
        {"qa": [("fp8", "PASS"), ("bf16", "PASS")]},
        {"qa": "fp8", "qa-previous": "bf16", "qa-candidate": "fp8"},
        {"qa": "fp8", "qa-previous": "bf16", "qa-candidate": "fp8"},
    ),
    "scenes do not touch each other, nor an alias that is nobody's": (
        {"qa": [("awq-int4", "PASS")], "tools": [("awq-int4", "FAIL"), ("fp8", "PASS")]},
        {"tools": "bf16", "champion": "old"},
        {
            "qa": "awq-int4",
            "qa-candidate": "awq-int4",
            "tools": "fp8",
            "tools-previous": "bf16",
            "tools-candidate": "awq-int4",
            "champion": "old",
        },
    ),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    made = FakeRun(Layout(tmp_path_factory.mktemp("runs") / "local"), UNTRIED)
    made.write()
    return made


def manifests(run: FakeRun) -> dict[str, Manifest]:
    return {name: Manifest.model_validate_json(run.layout.manifest(name).read_bytes()) for name in run.variants}


def decided(run: FakeRun, verdicts: Verdicts, exit_code: int = 0) -> Decision:
    return FakeRun(run.layout, verdicts, exit_code=exit_code).decision()


@pytest.mark.parametrize("case", CASES)
def test_alias_semantics(run: FakeRun, case: str) -> None:
    verdicts, before, after = CASES[case]
    weights = {name: run.weights(name) for name in run.variants} | {"old": OLD}
    held = {alias: weights[name] for alias, name in before.items()}
    made = plan(decided(run, verdicts), manifests(run), dict(held))
    for move in made.moves:
        assert move.before == held.get(move.alias)
        assert move.before != move.after
        held[move.alias] = move.after
    names = {digest: name for name, digest in weights.items()}
    assert {alias: names[digest] for alias, digest in held.items()} == after
    assert [version.variant for version in made.versions] == run.variants
    assert plan(decided(run, verdicts), manifests(run), held).moves == []


def test_previous_moves_before_the_scene(run: FakeRun) -> None:
    made = plan(decided(run, {"qa": [("fp8", "PASS")]}), manifests(run), {"qa": OLD})
    assert [move.alias for move in made.moves] == ["qa-candidate", "qa-previous", "qa"]


@pytest.mark.parametrize("exit_code", [0, 1, 2, 3])
def test_only_exit_code_2_promotes_nothing(run: FakeRun, exit_code: int) -> None:
    made = plan(decided(run, {"qa": [("fp8", "PASS")]}, exit_code), manifests(run), {})
    assert (made.versions == [], made.moves == []) == (exit_code == 2, exit_code == 2)


def test_the_same_weights_are_one_version(run: FakeRun) -> None:
    decision = decided(run, UNTRIED)
    same = decision.model_copy(update={"weights": dict.fromkeys(run.variants, OLD)})
    equal = {name: made.model_copy(update={"weights_digest": OLD}) for name, made in manifests(run).items()}
    assert [version.variant for version in plan(same, equal, {}).versions] == ["bf16"]


@pytest.mark.parametrize("scene", ["latest", "v1", "V22", "a b", "qa.x", ""])
def test_a_scene_that_cannot_be_an_alias_is_refused(run: FakeRun, scene: str) -> None:
    with pytest.raises(InputError, match=r"cannot be an alias"):
        plan(decided(run, {scene: [("fp8", "PASS")]}), manifests(run), {})


def test_scenes_whose_aliases_collide_are_refused(run: FakeRun) -> None:
    with pytest.raises(InputError, match=r"'qa-previous' cannot be an alias"):
        plan(decided(run, {"qa": [("fp8", "PASS")], "qa-previous": [("fp8", "PASS")]}), manifests(run), {})


def test_a_decision_that_contradicts_itself_is_refused(run: FakeRun) -> None:
    decision = decided(run, {"qa": [("fp8", "FAIL")]})
    scene = decision.scenes[0].model_copy(update={"chosen": "fp8"})
    with pytest.raises(InputError, match=r"scenes.qa: chosen is fp8, its verdicts say bf16"):
        plan(decision.model_copy(update={"scenes": [scene]}), manifests(run), {})


def test_weights_other_than_the_manifest_are_refused(run: FakeRun) -> None:
    decision = decided(run, UNTRIED)
    other = decision.model_copy(update={"weights": decision.weights | {"fp8": OLD}})
    with pytest.raises(InputError, match=r"weights\.fp8 is 0{64}, its manifest says"):
        plan(other, manifests(run), {})


def test_declared_evidence_promotes_nothing(run: FakeRun) -> None:
    decision = decided(run, UNTRIED).model_copy(update={"declared": ["bf16", "fp8"]})
    with pytest.raises(InputError, match=r"bf16, fp8: asked of an endpoint whose numerics are declared, not measured"):
        plan(decision, manifests(run), {})
