"""`show`, `promote` and `rollback`: the command lines."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import yaml

from evalsets.records import InputError
from registry.store.apply import Target, holders, promote, roll_back
from registry.store.load import load_bundle
from registry.store.mlflow_store import Store
from registry.store.show import disagreements, serving, story
from registry.verify.recompute import Trusted, verify
from registry.verify.settings import read_settings

PARAMS = Path("params.yaml")
SHOW = "Who serves what, since when and why, and what a rollback would bring back; --history lists every move."
PROMOTE = """\
Promote evidence that verifies: it is recomputed, the checkpoints are read again, then versions, journal and aliases are
brought to what the decision says. Run again it does nothing. A decision that was rolled back is not promoted again."""
ROLLBACK = """\
Bring back what served a scene before. The move and its reason go into the journal; nothing is rewritten. Run again it
goes further back. `promote` leaves the scene alone until there is other evidence."""


def add_to(commands: Any) -> None:
    """Add the commands to the registry's parser."""
    raw = argparse.RawDescriptionHelpFormatter
    show = commands.add_parser("show", help="who serves what, since when and why", description=SHOW)
    show.add_argument("scene", nargs="?", help="one scene (default: all)")
    show.add_argument("--history", action="store_true", help="every move, the oldest first")
    show.set_defaults(run=_show)
    move = commands.add_parser("promote", help="promote evidence", description=PROMOTE, formatter_class=raw)
    move.add_argument("evidence", type=Path, help="folder of the evidence, such as evidence/local")
    move.add_argument("--checkpoints", type=Path, required=True, help="folder with a checkpoint for each variant")
    move.add_argument("--data", type=Path, default=Path(), help="folder that suite paths start from (default: here)")
    move.set_defaults(run=_promote)
    back = commands.add_parser(
        "rollback", help="bring back what served before", description=ROLLBACK, formatter_class=raw
    )
    back.add_argument("scene")
    back.add_argument("--reason", required=True, help="why, in a sentence")
    back.set_defaults(run=_rollback)
    for parser in (show, move, back):
        parser.add_argument("--tracking-uri", help="the registry (default: MLFLOW_TRACKING_URI, else params.yaml's)")
        parser.add_argument("--model", help="the registered model (default: params.yaml's model.name)")


def _show(given: argparse.Namespace) -> int:
    store, model = _opened(given)
    entries = store.runs.entries(model)
    if given.scene:
        names = (given.scene, f"{given.scene}-previous", f"{given.scene}-candidate")
        entries = [entry for entry in entries if entry.alias in names]
    held = holders(store, model)
    print(f"registered model {model}")
    print(serving(entries, held))
    if given.history:
        print(f"\n{story(entries)}")
    found = disagreements(entries, held)
    for line in found:
        print(f"note: {line}", file=sys.stderr)
    return 0


def _promote(given: argparse.Namespace) -> int:
    store, model = _opened(given)
    decision = verify(given.evidence, read_settings(given.evidence / "params.yaml"), Trusted(given.data), _say)
    if decision.exit_code == 2:
        raise InputError(
            f"{given.evidence}: nothing is promoted, this could not be decided: {'; '.join(decision.broken)}"
        )
    checkpoints = {variant: given.checkpoints / variant for variant in decision.weights}
    moves, promotion = promote(load_bundle(given.evidence), Target(store, model, checkpoints), _say)
    for move in moves.moves:
        print(f"{move.alias}: {move.reason}")
    if not moves.moves:
        print("nothing to move")
    for scene, now in promotion.scenes.items():
        print(f"{scene}: {now.variant}, version {now.version} of {model}")
    return 0


def _rollback(given: argparse.Namespace) -> int:
    store, model = _opened(given)
    roll_back(store, model, given.scene, given.reason, _say)
    print(serving([entry for entry in store.runs.entries(model) if entry.alias == given.scene], holders(store, model)))
    return 0


def _opened(given: argparse.Namespace) -> tuple[Store, str]:
    settings = yaml.safe_load(PARAMS.read_text("utf-8")) if PARAMS.is_file() else {}
    uri = (
        given.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or settings.get("registry", {}).get("tracking_uri")
    )
    model = given.model or settings.get("model", {}).get("name")
    if not uri or not model:
        raise InputError("no params.yaml here: give --tracking-uri and --model, or render a profile (make use)")
    return Store(uri), model


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
