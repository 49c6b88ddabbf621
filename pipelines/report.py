"""Stage report: what was decided, and every number and lost answer behind it.

`report.html` is the whole report in one file, `report.md` a short one for a comment, `report.xml` the decision as JUnit
XML for a CI system. `--summary` prints the decision table, where the report lies and what the exit code means, and
writes nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from evalsets.items import QaItem, Suite, ToolItem
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, digest, file_sha256, read_record, read_rows, unique_by_id, write_atomic
from evalsets.responses import Response
from judges.verdicts import Verdict
from pipelines.layout import Layout
from pipelines.params import PARAMS
from pipelines.profiles import Profile, load_profile
from pipelines.reporting.html.page import html_page
from pipelines.reporting.junit import junit
from pipelines.reporting.material import Material
from pipelines.reporting.page import page
from pipelines.reporting.summary import run_summary
from pipelines.stage import run_stage
from registry.gate.decision import Decision
from registry.store.bundle import Bundle
from registry.store.load import load_bundle


def report(profile: Profile) -> None:
    """Write report.md, report.html and report.xml below `runs/<profile>/`.

    Raises `InputError` where the evidence is missing or does not fit together.
    """
    layout, material = Layout.of(profile.profile), _material(profile)
    made = {
        layout.report: page(material).encode(),
        layout.report_html: html_page(material).encode(),
        layout.report_xml: junit(material.decision),
    }
    for path, content in made.items():
        write_atomic(path, content)


def summary(profile: Profile) -> str:
    """The end-of-run summary. Raises `InputError` where there is no decision or no report yet."""
    layout = Layout.of(profile.profile)
    decision = read_record(layout.decision, Decision)
    _check_decided(decision, profile)
    if not layout.report.is_file():
        raise InputError(f"{layout.report}: no such file; run the report stage (dvc repro report)")
    return run_summary(decision, layout.report)


def _material(profile: Profile) -> Material:
    layout = Layout.of(profile.profile)
    bundle = load_bundle(layout.root)
    _check_decided(bundle.decision, profile)
    items = {suite: _items(profile, suite, bundle) for suite in profile.suites}
    return Material(
        profile=profile,
        bundle=bundle,
        items=items,
        toolsets=load_toolsets(Path(profile.toolsets)),
        verdicts={run: {suite: _verdicts(layout, run, suite) for suite in items} for run in profile.runs},
        responses={run: {suite: _responses(layout, run, suite) for suite in items} for run in profile.runs},
    )


def _check_decided(decision: Decision, profile: Profile) -> None:
    if decision.profile != profile.profile or decision.policy_sha256 != digest(profile.policy):
        path = Layout.of(profile.profile).decision
        raise InputError(f"{path}: decided under another policy than the profile's; run the gate stage (dvc repro)")


def _items(profile: Profile, suite: Suite, bundle: Bundle) -> dict[str, QaItem | ToolItem]:
    settings = profile.suites[suite]
    path = Path(settings.path)
    for run, engine in bundle.engines.items():
        if engine.shared.suites[suite].file_sha256 != file_sha256(path):
            raise InputError(f"{path}: not the suite that {run} was asked; run the stages again (dvc repro)")
    return {item.id: item for item in load_suite(path, suite, settings.take)}


def _verdicts(layout: Layout, run: str, suite: Suite) -> dict[str, Verdict]:
    path = layout.verdicts(run, suite)
    return unique_by_id(read_rows(path, Verdict), "answer_id", str(path))


def _responses(layout: Layout, run: str, suite: Suite) -> dict[str, Response]:
    path = layout.responses(run, suite)
    return unique_by_id(read_rows(path, Response), "answer_id", str(path))


def main(argv: Sequence[str] | None = None) -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--profile-file", type=Path, default=PARAMS, help="rendered profile (default: %(default)s)")
    parser.add_argument("--summary", action="store_true", help="print the end-of-run summary; write nothing")
    given = parser.parse_args(argv)
    if given.summary:
        run_stage(lambda: print(summary(load_profile(given.profile_file))))
    else:
        run_stage(lambda: report(load_profile(given.profile_file)))


if __name__ == "__main__":
    main()
