"""Signing evidence: an in-toto Statement v1 over every file, in a DSSE v1 envelope, Ed25519 through `cryptography`."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from evalsets.records import InputError, Record, canonical_json, digest, file_sha256
from registry.gate.decision import Decision

PAYLOAD = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"


class Signature(Record):
    """One signature, base64; `keyid` is the SHA-256 of the raw public key."""

    keyid: str
    sig: str


class Envelope(Record):
    """A DSSE envelope; `payload` is base64."""

    payload: str
    payloadType: str
    signatures: list[Signature]


def attest(evidence: Path, decision: Decision, key: Ed25519PrivateKey) -> Envelope:
    """The signed statement that these files, by name and SHA-256, gave this decision.

    INCONCLUSIVE is a failure here: the test-result predicate knows PASSED, WARNED and FAILED, and only PASS passes.
    """
    payload = canonical_json(statement(evidence, decision))
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    signature = Signature(keyid=_keyid(raw), sig=base64.b64encode(key.sign(_encoded(payload))).decode())
    return Envelope(payload=base64.b64encode(payload).decode(), payloadType=PAYLOAD, signatures=[signature])


def statement(evidence: Path, decision: Decision) -> dict[str, Any]:
    """The in-toto statement: subjects are the files in order of their names, the predicate is the test result."""
    verdicts = [(scene.scene, found) for scene in decision.scenes for found in scene.candidates]
    names = {f"{scene}/{found.candidate}": found.outcome for scene, found in verdicts}
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in _files(evidence).items()],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "PASSED" if decision.exit_code == 0 else "FAILED",
            "configuration": [{"name": "policy", "digest": {"sha256": decision.policy_sha256}}],
            "passedTests": sorted(name for name, outcome in names.items() if outcome == "PASS"),
            "failedTests": sorted(name for name, outcome in names.items() if outcome != "PASS"),
            "annotations": {"decision": digest(decision)},
        },
    }


def check_envelope(evidence: Path, envelope: Envelope, key: Ed25519PublicKey) -> None:
    """Hold if the key signed the envelope and it speaks of the files that lie there. Raises `InputError` naming one."""
    payload = base64.b64decode(envelope.payload)
    raw = key.public_bytes(Encoding.Raw, PublicFormat.Raw)
    own = [signature for signature in envelope.signatures if signature.keyid == _keyid(raw)]
    if not own or envelope.payloadType != PAYLOAD:
        raise InputError(f"{evidence}: its envelope is not signed by this key ({_keyid(raw)[:12]})")
    try:
        key.verify(base64.b64decode(own[0].sig), _encoded(payload))
    except InvalidSignature:
        raise InputError(f"{evidence}: the signature does not fit the envelope's content") from None
    signed = {subject["name"]: subject["digest"]["sha256"] for subject in json.loads(payload)["subject"]}
    lying = _files(evidence)
    for name in sorted(signed.keys() | lying.keys()):
        if signed.get(name) != lying.get(name):
            raise InputError(f"{evidence / name}: not the file that was signed")


def private_key(path: Path, password: str | None) -> Ed25519PrivateKey:
    """Read an Ed25519 private key. Raises `InputError` for another kind, a wrong password or a file that is no key."""
    try:
        key = load_pem_private_key(path.read_bytes(), password.encode() if password else None)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"{path}: no private key can be read ({type(error).__name__}); PEM, and its password"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError(f"{path}: not an Ed25519 key; make one: openssl genpkey -algorithm ed25519")
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """Read an Ed25519 public key. Raises `InputError` for another kind or a file that is no key."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: no public key can be read ({type(error).__name__}); PEM is wanted") from None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(f"{path}: not an Ed25519 key")
    return key


def _encoded(payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding (protocol.md of secure-systems-lab/dsse)."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)


def _keyid(raw: bytes) -> str:

    return hashlib.sha256(raw).hexdigest()


def _files(evidence: Path) -> dict[str, str]:
    """Every file under the evidence but the envelope, by its relative name."""
    paths = sorted(path for path in evidence.rglob("*") if path.is_file() and not path.name.endswith(".dsse.json"))
    return {path.relative_to(evidence).as_posix(): file_sha256(path) for path in paths}
