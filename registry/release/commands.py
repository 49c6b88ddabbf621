"""`guard`: the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from evalsets.records import InputError, explain, file_sha256, write_atomic
from registry.release.canary import Canary
from registry.release.complaints import Count, Kind, parse_counts
from registry.release.guard import propose
from registry.release.guard_reason import summary
from registry.release.proposal import Question
from registry.release.yaml_text import yaml_text

KINDS: dict[str, Kind] = {".csv": "csv", ".jsonl": "jsonl"}
LOWERED = 4

GUARD = f"""\
Compare the complaint rates of two variants and propose shares of sessions: the candidate's is kept or lowered, never
raised. An alarm needs an excess beyond the release's margin, shown by a test that may be repeated after every window
for years. Nothing is changed; the proposal is printed, and written to --out.

Exit codes: 0 no change, {LOWERED} the candidate's share is lowered, 2 refused with the reason."""
EXAMPLE = """\
COUNTS is CSV with a header line, or JSONL with the same keys; a row per window and variant:

  window,variant,sessions,complaints
  2026-03-01,bf16,3750,41
  2026-03-01,awq-int4,1250,16

window: when it starts, an ISO date or time. complaints: sessions with one, not messages. See docs/guard.md."""


def add_to(commands: Any) -> None:
    """Add the command to the registry's parser."""
    guard = commands.add_parser(
        "guard",
        help="lower a candidate's share when complaints rise",
        description=GUARD,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    guard.add_argument("counts", type=Path, metavar="COUNTS", help="complaint counts, .csv or .jsonl")
    guard.add_argument("--baseline", required=True, metavar="VARIANT", help="what is compared with, such as bf16")
    guard.add_argument("--candidate", required=True, metavar="VARIANT", help="what is watched, such as awq-int4")
    guard.add_argument(
        "--share", required=True, type=float, metavar="SHARE", help="the candidate's share of sessions now, 0 to 1"
    )
    guard.add_argument(
        "--release", type=Path, metavar="FILE", help="release.yaml with the canary plan (default: the built-in plan)"
    )
    guard.add_argument("--out", type=Path, metavar="FILE", help="where to write the proposal, YAML")
    guard.set_defaults(run=_guard)


def _guard(given: argparse.Namespace) -> int:
    for source in (given.counts, given.release):
        if given.out and source and given.out.resolve() == source.resolve():
            raise InputError(f"--out {given.out} would replace what it is made from; give another file")
    scene, canary = _plan(given.release, given.candidate) if given.release else (None, Canary())
    question = Question(
        baseline=given.baseline,
        candidate=given.candidate,
        share=given.share,
        scene=scene,
        release_sha256=file_sha256(given.release) if given.release else None,
    )
    rows = _read_counts(given.counts, given.baseline)
    proposal = propose(rows, question, canary)
    print(summary(proposal))
    others = sorted({row.variant for row in rows} - {given.baseline, given.candidate})
    if others:
        print(f"left out: rows of {', '.join(others)}")
    if given.out:
        write_atomic(given.out, yaml_text(proposal.model_dump(mode="json")).encode())
        print(f"{given.out}: the proposal")
    return LOWERED if proposal.lowered else 0


def _read_counts(path: Path, baseline: str) -> list[Count]:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path}: neither .csv nor .jsonl; give complaint counts in one of these forms")
    return parse_counts(_text(path), kind, str(path), baseline)


def _plan(path: Path, candidate: str) -> tuple[str | None, Canary]:
    """The scene and the canary plan of a release, its guardrails included.

    Only what the guard needs is read: the rest of a release is checked by those who load it.
    """
    try:
        values = yaml.safe_load(_text(path))
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}; write the release again") from None
    if not isinstance(values, dict) or not isinstance(values.get("canary"), dict):
        raise InputError(f"{path}: no canary plan; a release holds one under the key canary")
    scene, served = values.get("scene"), values.get("served")
    if scene is not None and not isinstance(scene, str):
        raise InputError(f"{path}: scene: {scene!r} is no name; write the release again")
    released = served.get("variant") if isinstance(served, dict) else candidate
    if released != candidate:
        raise InputError(f"{path}: releases {released}, not {candidate}; give that candidate's release")
    plan = dict(values["canary"])
    if values.get("guardrails") is not None:
        if plan.get("guardrail", values["guardrails"]) != values["guardrails"]:
            raise InputError(f"{path}: guardrails and canary.guardrail differ; keep one of them")
        plan["guardrail"] = values["guardrails"]
    try:
        return scene, Canary.model_validate(plan)
    except ValidationError as error:
        raise InputError(f"{path}: canary: {explain(error)}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; give a file that can be read") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
