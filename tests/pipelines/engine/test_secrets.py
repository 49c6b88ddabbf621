"""Secrets are planted wherever an engine takes them, and looked for in every file that a run writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import InputError, read_record, read_rows
from evalsets.responses import Response
from pipelines.generate import generate
from pipelines.layout import Layout
from registry.evidence import EngineRecord
from tests.pipelines.engine.bench import Bench
from tests.pipelines.engine.fake_engine import Script

SECRETS = ["s3cr3t-variable", "s3cr3t-flag-1", "s3cr3t-flag-2", "s3cr3t-in-uri", "s3cr3t-hub-token", "s3cr3t-proxy"]


def plant(bench: Bench, monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    variable, flag, other_flag, uri, token, proxy = SECRETS
    monkeypatch.setenv("VLLM_API_KEY", variable)
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.setenv("VLLM_MEDIA_URL", f"https://me:{uri}@host/x")
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{proxy}@127.0.0.1:9")
    bench.engine = {
        "flags": ["--api-key", flag, other_flag, "--kv-transfer-config", f'{{"url": "redis://me:{uri}@host"}}'],
        "environment": {"VLLM_CONNECTOR": f"redis://:{uri}@host", "VLLM_SOME_TOKEN": token},
    }
    bench.play(script)


def leaks(folder: Path, texts: str) -> list[str]:
    # params.yaml and script.json are where this test planted some of them; nothing else may hold one.
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in {"params.yaml", "script.json"}]
    assert any(path.name == "engine.log" for path in files)
    found = [f"{path}: {secret}" for path in files for secret in SECRETS if secret.encode() in path.read_bytes()]
    return found + [f"message: {secret}" for secret in SECRETS if secret in texts]


def test_no_secret_reaches_a_file_and_the_engine_still_answers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    plant(bench, monkeypatch, Script(log=[f"key {SECRETS[0]}", f"token {SECRETS[4]}"]))
    generate(bench.params(), "bf16")
    rows = read_rows(Layout.of("bench").responses("bf16", "qa"), Response)
    assert {row.status for row in rows} == {"ok"}
    log = next(Path(".work").rglob("engine.log")).read_text()
    assert "redis://***@host" in log
    assert "key ***\ntoken ***" in log
    record = read_record(Layout.of("bench").engine("bf16"), EngineRecord)
    assert record.environment["VLLM_CONNECTOR"] == "redis://***@host"
    assert record.argv[record.argv.index("--api-key") :][:3] == ["--api-key", "***", "***"]
    assert leaks(bench.folder, "".join(capfd.readouterr())) == []


def test_no_secret_reaches_the_message_of_an_engine_that_died(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    log = [f"Error: cannot reach redis://me:{SECRETS[3]}@host with {SECRETS[1]} and {SECRETS[4]}"]
    plant(bench, monkeypatch, Script(start="die", log=log))
    with pytest.raises(InputError, match=r"cannot reach redis://\*\*\*@host with \*\*\* and \*\*\*") as caught:
        bench.run()
    assert leaks(bench.folder, str(caught.value)) == []
