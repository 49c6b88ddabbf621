"""Secrets are planted wherever an engine takes them, and looked for in every file that a run writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import InputError, read_record, read_rows
from evalsets.responses import Response
from pipelines.generate import generate
from pipelines.layout import Layout
from pipelines.probe import probe
from registry.evidence import EngineRecord
from tests.pipelines.engine.bench import QA, Bench
from tests.pipelines.engine.fake_engine import FakeEngine, Script, Step

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


KEY = "s3cr3t-of-the-endpoint"


def test_the_key_of_a_remote_endpoint_reaches_no_file_and_no_message(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    probe(bench.params(), "bf16")
    monkeypatch.setenv("ENDPOINT_KEY", KEY)
    # As endpoints do that quote what they refuse: once in a fault that passes, once in one that stays, once in a reply.
    steps = {
        QA[0]: [Step(status=500, body=f"{'x' * 190} key {KEY}"), Step()],
        QA[1]: [Step(status=400, body=f"{'x' * 280} Bearer {KEY} is not allowed")],
        QA[2]: [Step(status=429, retry_after="0", body=f"quota of {KEY} used up"), Step()],
        QA[3]: [Step(body=f"{KEY} is not JSON")],
    }
    script = Script(models=[bench.name], steps=steps)
    with FakeEngine(script, Layout.of("bench").checkpoint("bf16"), [KEY]).serving() as url:
        bench.remote(url, api_key_env="ENDPOINT_KEY")
        generate(bench.params(), "bf16")
        rows = read_rows(Layout.of("bench").responses("bf16", "qa"), Response)
        assert [row.status for row in rows] == ["ok", "infra", "ok", "infra", "ok", "ok"]
        assert "quota of *** used up" in rows[2].retries[0].error
        script.models[:] = [f"tiny@{KEY}"]
        with pytest.raises(InputError, match=r"serves tiny with weights \*\*\*") as refused:
            bench.run()
    monkeypatch.setenv("ENDPOINT_KEY", f"{KEY}-old")
    with FakeEngine(script, Layout.of("bench").checkpoint("bf16"), [KEY]).serving() as url:
        bench.remote(url, api_key_env="ENDPOINT_KEY")
        with pytest.raises(InputError, match="refuses the key in ENDPOINT_KEY") as unauthorised:
            bench.run()
    said = "".join([*capfd.readouterr(), str(refused.value), str(unauthorised.value), repr(bench.session())])
    assert KEY[:12] not in said
    files = [path for path in bench.folder.rglob("*") if path.is_file()]
    assert len([path for path in files if ".work" in path.parts or "runs" in path.parts]) > 10
    assert [path for path in files if KEY[:12].encode() in path.read_bytes()] == []


def test_no_secret_reaches_the_message_of_an_engine_that_died(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    log = [f"Error: cannot reach redis://me:{SECRETS[3]}@host with {SECRETS[1]} and {SECRETS[4]}"]
    plant(bench, monkeypatch, Script(start="die", log=log))
    with pytest.raises(InputError, match=r"cannot reach redis://\*\*\*@host with \*\*\* and \*\*\*") as caught:
        bench.run()
    assert leaks(bench.folder, str(caught.value)) == []
