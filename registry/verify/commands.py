"""`verify` and `sign`: the command lines."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from evalsets.records import InputError, read_rows, write_record
from registry.evidence import Attempt
from registry.gate.summary import summary
from registry.verify.attest import Envelope, attest, check_envelope, private_key, public_key
from registry.verify.recompute import Trusted, verify
from registry.verify.settings import read_asking, read_policy, read_settings

ENVELOPE = "attestation.dsse.json"
PASSWORD = "SIGNING_KEY_PASSWORD"

VERIFY = """\
Recompute published evidence offline: every stored answer is judged again, every comparison and the decision made
again. Any byte that differs is refused by file and line. Bring what you trust: a policy, suites, the ledger, a key."""
SIGN = f"""\
Sign evidence that verifies: an in-toto statement over every file, in a DSSE envelope, Ed25519.
The key is a PEM file; its password, if it has one, is read from {PASSWORD}."""


def add_to(commands: Any) -> None:
    """Add both commands to the registry's parser."""
    raw = argparse.RawDescriptionHelpFormatter
    check = commands.add_parser("verify", help="recompute evidence offline", description=VERIFY, formatter_class=raw)
    check.add_argument("evidence", type=Path, help="folder of the evidence, such as evidence/local")
    check.add_argument("--policy", type=Path, help="a profile or policy that you trust (default: the evidence's own)")
    check.add_argument("--data", type=Path, default=Path(), help="folder that suite paths start from (default: here)")
    check.add_argument("--attempts", type=Path, help="the ledger as you knew it; the evidence's must go on from it")
    check.add_argument("--public-key", type=Path, help=f"PEM; {ENVELOPE} must be signed by it")
    check.add_argument("--check", action="store_true", help="exit by the decision: 0, 1, 2 or 3")
    check.set_defaults(run=_verify)
    sign = commands.add_parser("sign", help="sign evidence", description=SIGN, formatter_class=raw)
    sign.add_argument("evidence", type=Path, help="folder of the evidence")
    sign.add_argument("--key", type=Path, required=True, help="private key, PEM, Ed25519")
    sign.set_defaults(run=_sign)


def _verify(given: argparse.Namespace) -> int:
    settings = read_settings(given.evidence / "params.yaml")
    trusted = Trusted(
        data=given.data,
        policy=read_policy(given.policy) if given.policy else None,
        asked=read_asking(given.policy) if given.policy else None,
        attempts=read_rows(given.attempts, Attempt) if given.attempts else None,
    )
    decision = verify(given.evidence, settings, trusted, _say)
    if given.public_key:
        check_envelope(given.evidence, _envelope(given.evidence), public_key(given.public_key))
    print(summary(decision))
    print(f"verified: {given.evidence} is what its answers give" + (", and signed" if given.public_key else ""))
    return decision.exit_code if given.check else 0


def _sign(given: argparse.Namespace) -> int:
    settings = read_settings(given.evidence / "params.yaml")
    decision = verify(given.evidence, settings, Trusted(data=Path()), _say)
    key = private_key(given.key, os.environ.get(PASSWORD))
    write_record(given.evidence / ENVELOPE, attest(given.evidence, decision, key))
    print(f"{given.evidence / ENVELOPE}: signed {given.evidence}")
    return 0


def _envelope(evidence: Path) -> Envelope:
    path = evidence / ENVELOPE
    if not path.is_file():
        raise InputError(f"{path}: no such file; the evidence is not signed (python -m registry sign)")
    return Envelope.model_validate_json(path.read_bytes())


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
