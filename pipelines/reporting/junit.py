"""The decision as JUnit XML, which CI systems show beside their tests."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from pipelines.reporting.summary import meaning
from registry.gate.decision import CandidateVerdict, Decision, GateResult, Outcome, SceneDecision

TEXT_LIMIT = 4_000  # characters of a reason
EVIDENCE = "evidence"  # the test suite that holds what could not be judged
# What XML 1.0 cannot hold, and the other control characters, which no reader shows.
_UNSEEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(decision: Decision) -> bytes:
    """A UTF-8 document: a test suite per scene, with a test case per candidate and gate.

    FAIL and INCONCLUSIVE are failures of that type. A candidate whose verdict is not that of its gates, or that has
    none, gets a case `verdict` of its own. What could not be judged stands as errors in a suite `evidence` before the
    scenes. Characters that XML cannot hold are spelled (`⟨U+0000⟩`).
    """
    root = ET.Element("testsuites", name=_text(f"{decision.profile}: quantization gates"))
    suites = [_evidence(decision)] if decision.broken else []
    suites += [_scene(decision, scene) for scene in decision.scenes]
    for suite in suites:
        _count(suite, [suite])
        root.append(suite)
    _count(root, suites)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _evidence(decision: Decision) -> ET.Element:
    suite = ET.Element("testsuite", name=EVIDENCE)
    for number, problem in enumerate(decision.broken, 1):
        case = _case(suite, f"{decision.profile}.{EVIDENCE}", f"problem {number}")
        _said(case, "error", "BROKEN", problem)
    return suite


def _scene(decision: Decision, scene: SceneDecision) -> ET.Element:
    suite = ET.Element("testsuite", name=_text(scene.scene))
    properties = ET.SubElement(suite, "properties")
    told = {
        "serves": scene.chosen,
        "reason": scene.reason,
        "required": scene.require,
        "exit_code": str(decision.exit_code),
        "meaning": meaning(decision),
        "policy_sha256": decision.policy_sha256,
    }
    for name, value in told.items():
        ET.SubElement(properties, "property", name=name, value=_text(value))
    for verdict in scene.candidates:
        where = f"{decision.profile}.{scene.scene}.{verdict.candidate}"
        names = [gate_name(gate) for gate in verdict.gates]
        for index, gate in enumerate(verdict.gates):
            # Readers of JUnit files take cases of one name for one case.
            again = names[:index].count(names[index])
            _result(_case(suite, where, names[index] + (f" ({again + 1})" if again else "")), gate.outcome, gate.reason)
        if _of_gates(verdict) != verdict.outcome:
            _result(_case(suite, where, "verdict"), verdict.outcome, verdict.reason)
    return suite


def gate_name(gate: GateResult) -> str:
    """`noninferiority qa strict`: the test, and what it looks at."""
    return " ".join(filter(None, [gate.test, gate.suite, gate.verdict]))


def _of_gates(verdict: CandidateVerdict) -> Outcome | None:
    """What the gates alone amount to; None where there are none."""
    outcomes: list[Outcome] = ["FAIL", "INCONCLUSIVE", "PASS"]
    return next((outcome for outcome in outcomes if outcome in {gate.outcome for gate in verdict.gates}), None)


def _case(suite: ET.Element, where: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_text(where), name=_text(name))


def _result(case: ET.Element, outcome: Outcome, reason: str) -> None:
    if outcome == "PASS":
        ET.SubElement(case, "system-out").text = _text(reason)
    else:
        _said(case, "failure", outcome, reason)


def _said(case: ET.Element, kind: str, outcome: str, reason: str) -> None:
    text = _text(reason)
    ET.SubElement(case, kind, type=outcome, message=text).text = text


def _count(element: ET.Element, suites: list[ET.Element]) -> None:
    """Set the numbers of cases, failures and errors that stand below the suites."""
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        element.set(name, str(sum(1 for suite in suites for _ in suite.iter(tag))))


def _text(text: str) -> str:
    shown = _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text[:TEXT_LIMIT])
    return shown + (f" … ({len(text) - TEXT_LIMIT:,} more characters)" if len(text) > TEXT_LIMIT else "")
