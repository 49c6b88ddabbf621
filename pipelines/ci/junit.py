"""The recomputed decision as JUnit XML, for the test views of CI systems. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from pipelines.ci.outcome import Outcome
from registry.gate.decision import SceneDecision
from registry.store.markup import one_line


def junit(outcomes: Sequence[Outcome], problems: Sequence[str]) -> bytes:
    """One suite per profile with a case per scene, and one case that the evidence could be recomputed.

    A scene fails if its required candidate does not PASS: INCONCLUSIVE is a failure, never a skipped test. What could
    not be recomputed is an error.
    """
    root = ElementTree.Element("testsuites", name="release gate")
    _suite(root, "pull request", [("evidence can be used", "error", "2", problems)])
    for outcome in outcomes:
        scenes = outcome.decision.scenes if outcome.decision else []
        broken = [f"exit code {outcome.code}", *outcome.said.splitlines()[-20:]] if outcome.code == 2 else []
        _suite(root, outcome.profile, [("recomputed", "error", "2", broken), *map(_scene, scenes)])
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


Case = tuple[str, str, str, Sequence[str]]


def _suite(root: ElementTree.Element, name: str, cases: Sequence[Case]) -> None:
    wrong = [kind for _, kind, _, lines in cases if lines]
    counts = {"tests": len(cases), "failures": wrong.count("failure"), "errors": wrong.count("error")}
    suite = ElementTree.SubElement(root, "testsuite", {"name": name} | {key: str(n) for key, n in counts.items()})
    for title, kind, sort, lines in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=name, name=title)
        if lines:
            said = [one_line(line) for line in lines]
            ElementTree.SubElement(case, kind, type=sort, message=said[0]).text = "\n".join(said)


def _scene(scene: SceneDecision) -> Case:
    required = next((found for found in scene.candidates if found.candidate == scene.require), None)
    if required is None or required.outcome == "PASS":
        return scene.scene, "failure", "", []
    said = [f"{required.candidate}: {required.outcome}, {required.reason}"]
    return scene.scene, "failure", required.outcome, said + [f"{gate.test}: {gate.reason}" for gate in required.gates]
