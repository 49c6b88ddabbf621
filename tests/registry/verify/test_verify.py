"""Recomputing the published evidence: the same bytes, and every changed character refused by name."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from evalsets.records import InputError
from registry.__main__ import main
from registry.verify.recompute import Trusted, verify
from registry.verify.settings import read_settings

EVIDENCE = Path("evidence/local")
DATA = Path("evalsets/data")


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    """A copy of the published evidence under a project folder of its own, with the suites it was asked."""
    shutil.copytree(DATA, tmp_path / DATA)
    return Path(shutil.copytree(EVIDENCE, tmp_path / EVIDENCE))


def run(evidence: Path, *options: str) -> int:
    return main(["verify", str(evidence), "--data", str(evidence.parent.parent), *options])


def swap(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Change the first place where `old` stands in a file of the evidence (or of the project)."""

    def damage(evidence: Path) -> None:
        path = evidence / name if (evidence / name).exists() else evidence.parent.parent / name
        text = path.read_text("utf-8", "surrogatepass")
        assert old in text
        path.write_text(text.replace(old, new, 1), "utf-8", "surrogatepass")

    return damage


def test_the_published_evidence_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(EVIDENCE), "--policy", "profiles/local.yaml"]) == 0
    said = capsys.readouterr().out
    assert f"verified: {EVIDENCE} is what its answers give" in said


def test_check_exits_by_the_decision(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["verify", str(EVIDENCE), "--check"]) == json.loads((EVIDENCE / "decision.json").read_text())["exit_code"]
    )


DAMAGES = [
    (
        swap("responses/fp8/qa.jsonl", '"raw":"', '"raw":"x'),
        r"responses/fp8/qa\.jsonl: not the answers that engine/fp8",
    ),
    (
        swap("engine/bf16.json", '"device": "cpu"', '"device": "gpu"'),
        r"comparisons/awq-int4\.json:\d+: not what its inp",
    ),
    (swap("verdicts/bf16/qa.jsonl", '"strict_ok":true', '"strict_ok":false'), r"verdicts/bf16/qa\.jsonl:\d+: not what"),
    (
        swap("verdicts/awq-int4/tools.jsonl", "tc-", "tx-"),
        r"verdicts/awq-int4/tools\.jsonl:1: not what its inputs give",
    ),
    (swap("metrics/fp8.json", '"judged": 96', '"judged": 95'), r"metrics/fp8\.json:\d+: not what its inputs give"),
    (swap("comparisons/fp8.json", '"gains": ', '"gains": 1'), r"comparisons/fp8\.json:\d+: not what its inputs give"),
    (swap("decision.json", '"outcome": "PASS"', '"outcome": "FAIL"'), r"decision\.json:\d+: not what its inputs give"),
    (
        swap("params.yaml", "margin_pp: 12.0", "margin_pp: 13.0"),
        r"params\.yaml: its policy is not the one that decision",
    ),
    (swap("params.yaml", "dialect: hermes", "dialect: bare"), r"params\.yaml: not the dialect or parser that bf16 was"),
    (swap("attempts.jsonl", '"run":"fp8"', '"run":"fp9"'), r"decision\.json:\d+: not what its inputs give"),
    (swap("checkpoints/fp8/manifest.json", '"weight_bits": 8', '"weight_bits": 9'), r"decision\.json:\d+: not what"),
    (
        swap("evalsets/data/qa.jsonl", "青禾", "青禾 "),
        r"qa\.jsonl: not the suite that bf16 was asked: .*qa\.jsonl:1: qa-svc-",
    ),
    (swap("evalsets/data/toolsets.json", '"boolean"', '"integer"'), r"toolsets\.json: not the toolsets that bf16 was"),
]


@pytest.mark.parametrize(("damage", "says"), DAMAGES)
def test_one_changed_character_is_refused_by_name(
    evidence: Path, damage: Callable[[Path], None], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(evidence)
    assert run(evidence) == 2
    assert re.search(says, capsys.readouterr().err)


def test_a_missing_file_is_named(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (evidence / "comparisons" / "fp8.json").unlink()
    assert run(evidence) == 2
    assert "comparisons/fp8.json: no such file" in capsys.readouterr().err


def test_evidence_decided_under_another_policy_is_refused_with_what_it_asks_less(
    evidence: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted = yaml.safe_load((evidence / "params.yaml").read_text())
    trusted["policy"]["scenes"]["qa"]["gates"][0]["margin_pp"] = 5.0
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(trusted))
    assert run(evidence, "--policy", str(tmp_path / "mine.yaml")) == 2
    said = capsys.readouterr().err
    assert (
        "under another policy than the one given: scenes.qa.gates: noninferiority on qa: margin_pp 12 instead of 5"
        in said
    )


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("suites", {"qa": {"path": "evalsets/data/dev/qa.jsonl", "take": None}}, "suites"),
        ("toolsets", "other.json", "toolsets"),
        ("engine", {"dialect": "bare", "tool_parser": None}, "dialect, engine_reads"),
    ],
)
def test_evidence_that_was_asked_otherwise_than_a_trusted_profile_says_is_refused(
    evidence: Path, tmp_path: Path, key: str, value: object, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trusted = yaml.safe_load((evidence / "params.yaml").read_text()) | {key: value}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(trusted))
    assert run(evidence, "--policy", str(tmp_path / "mine.yaml")) == 2
    assert f"{named}: not as in the profile that you trust" in capsys.readouterr().err


def test_a_ledger_that_forgets_an_attempt_is_refused(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = evidence / "attempts.jsonl"
    before = evidence.parent / "before.jsonl"
    first, *others = known.read_text().splitlines()
    forgotten = json.loads(first) | {"generation_key": "0" * 64}
    before.write_text("\n".join([json.dumps(forgotten), first, *others]) + "\n")
    assert run(evidence, "--attempts", str(known)) == 0
    assert run(evidence, "--attempts", str(before)) == 2
    assert "does not begin with the ledger known before" in capsys.readouterr().err


def keys(folder: Path) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.generate()
    private, public = folder / "key.pem", folder / "key.pub.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def test_signed_evidence_verifies_with_its_key_and_no_other(
    evidence: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    private, public = keys(tmp_path)
    (tmp_path / "other").mkdir()
    _, stranger = keys(tmp_path / "other")
    monkeypatch.chdir(evidence.parent.parent)
    assert main(["sign", str(evidence), "--key", str(private)]) == 0
    assert run(evidence, "--public-key", str(public)) == 0
    assert run(evidence, "--public-key", str(stranger)) == 2
    assert "not signed by this key" in capsys.readouterr().err
    (evidence / "report.md").write_text("another report\n")
    assert run(evidence, "--public-key", str(public)) == 2
    assert "report.md: not the file that was signed" in capsys.readouterr().err


def test_a_forged_payload_is_refused(evidence: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private, public = keys(tmp_path)
    monkeypatch.chdir(evidence.parent.parent)
    assert main(["sign", str(evidence), "--key", str(private)]) == 0
    path = evidence / "attestation.dsse.json"
    envelope = json.loads(path.read_text())
    envelope["payload"] = envelope["payload"][:-8] + "AAAAAAA="
    path.write_text(json.dumps(envelope))
    assert run(evidence, "--public-key", str(public)) == 2


@pytest.mark.parametrize("content", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_named(
    evidence: Path, tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.pem").write_text(content)
    assert run(evidence, "--public-key", str(tmp_path / "bad.pem")) == 2
    assert main(["sign", str(EVIDENCE), "--key", str(tmp_path / "bad.pem")]) == 2
    assert "bad.pem: no private key can be read" in capsys.readouterr().err


def test_progress_is_said_step_by_step() -> None:
    said: list[str] = []
    verify(EVIDENCE, read_settings(EVIDENCE / "params.yaml"), Trusted(Path()), said.append)
    assert said[0] == "judging bf16"
    assert said[-1] == "deciding"


def test_an_exception_ends_with_2_and_no_traceback(evidence: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (evidence / "params.yaml").write_text("- a list\n")
    assert run(evidence) == 2
    (evidence / "params.yaml").unlink()
    assert run(evidence) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_settings_without_a_section_are_refused(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("profile: x\n")
    with pytest.raises(InputError, match="no 'engine'"):
        read_settings(tmp_path / "params.yaml")
