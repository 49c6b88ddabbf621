"""An endpoint that runs elsewhere: refused before the first item unless it serves the weights that are meant."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError, read_record, write_record
from pipelines.engine import remote
from pipelines.engine.launch import free_port, is_healthy
from pipelines.engine.probes import PROMPTS, TOKENS, ProbeRecord
from pipelines.engine_modes import RemoteEngine
from pipelines.generate import generate
from pipelines.layout import Layout
from pipelines.load import load
from pipelines.probe import probe
from pipelines.serving.load.settings import LoadParams
from registry.evidence import EngineRecord
from tests.pipelines.engine.bench import FAKE_ENGINE, QA, QA_IDS, ROOT, TOOLS, Bench
from tests.pipelines.engine.fake_engine import FakeEngine, Script, Step

PROBES = Path("runs/bench/probes")


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the weights' probes, recorded of an engine that was started."""
    folder = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", f"{ROOT}:{folder / 'site'}")
        probe(Bench(folder).params(), "bf16")
    return folder / PROBES


@pytest.fixture
def recorded(bench: Bench, probes: Path) -> Bench:
    """A project that has those probes."""
    shutil.copytree(probes, PROBES)
    return bench


@contextmanager
def endpoint(bench: Bench, keys: list[str] | None = None, **script: Any) -> Iterator[FakeEngine]:
    """An endpoint that serves the bench's weights by name, unless `script` says otherwise; the bench asks it."""
    made = Script.model_validate({"models": [bench.name]} | script)
    engine = FakeEngine(made, Layout.of("bench").checkpoint("bf16"), keys)
    with engine.serving() as url:
        bench.remote(url, **({"api_key_env": "ENDPOINT_KEY"} if keys else {}))
        yield engine


def test_the_right_weights_are_asked_every_item_once_and_the_record_says_declared(recorded: Bench) -> None:
    with endpoint(recorded) as engine:
        generate(recorded.params(), "bf16")
    assert engine.asked == Counter(QA + TOOLS)
    assert engine.probed == len(PROMPTS)
    record = read_record(Layout.of("bench").engine("bf16"), EngineRecord)
    assert (record.mode, record.argv, record.environment) == ("remote", [recorded.engine["url"]], {})
    assert record.execution == read_record(next(PROBES.iterdir()), ProbeRecord).execution
    assert record.hardware.processor == "declared, not measured"
    assert record.served_name == recorded.name


NAMES = {
    "without a digest": (
        ["tiny"],
        r"serves tiny without saying which weights; start it with --served-model-name tiny@",
    ),
    "with another digest": (["tiny@ffffffffffff"], r"serves tiny with weights ffffffffffff, the variant's are "),
    "of another model": (["big@ffffffffffff"], r"serves no tiny@\w{12} but big@ffffffffffff; start it with"),
    "with a longer name": (["my-tiny"], r"serves no tiny@\w{12} but my-tiny"),
}


@pytest.mark.parametrize("case", NAMES)
def test_a_name_that_does_not_disclose_these_weights_is_refused(recorded: Bench, case: str) -> None:
    models, says = NAMES[case]
    with endpoint(recorded, models=models) as engine:
        with pytest.raises(InputError, match=says):
            recorded.run()
        assert (engine.bodies, engine.probed) == ([], 0)


OTHER_WEIGHTS: dict[str, tuple[dict[str, Any], str]] = {
    "other log-probabilities": ({"logprob": -0.56}, r"prompt 1: a log-probability is 0\.06 away"),
    "other tokens": ({"probe": Step(text="ten")}, "prompt 1: other tokens"),
    "fewer tokens": ({"probe": Step(text="ni")}, "prompt 1: other tokens"),
}


@pytest.mark.parametrize("case", OTHER_WEIGHTS)
def test_the_right_name_with_other_weights_is_refused_before_the_first_item(recorded: Bench, case: str) -> None:
    script, says = OTHER_WEIGHTS[case]
    with endpoint(recorded, **script) as engine:
        with pytest.raises(InputError, match=says) as caught:
            recorded.run()
        assert (engine.bodies, engine.probed) == ([], len(PROMPTS))
    assert "no item was asked; deploy the checkpoint of that digest" in str(caught.value)


def test_log_probabilities_within_the_tolerance_are_the_same_weights(recorded: Bench) -> None:
    with endpoint(recorded, logprob=-0.54) as engine:
        recorded.run()
    assert engine.asked == Counter(QA + TOOLS)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (Step(body="{}"), "probe-0 was not answered as it must be .*KeyError 'prompt_token_ids'"),
        (Step(text=""), "probe-0 was not answered as it must be .0 token ids and 0 log-probabilities"),
        (Step(status=400, body="no logprobs here"), "refused with HTTP 400: no logprobs here"),
    ],
)
def test_an_endpoint_that_hides_tokens_is_refused(recorded: Bench, step: Step, says: str) -> None:
    with endpoint(recorded, probe=step) as engine:
        with pytest.raises(InputError, match=says) as caught:
            recorded.run()
        assert engine.bodies == []
    assert "a gateway has to pass return_token_ids and logprobs through" in str(caught.value)


def test_without_recorded_probes_nothing_is_asked(bench: Bench) -> None:
    with endpoint(bench) as engine:
        with pytest.raises(InputError, match=r"no probes of weights \w{12}; .* python -m pipelines\.probe --run"):
            bench.run()
        assert (engine.bodies, engine.probed) == ([], 0)


def test_probes_of_another_class_are_not_comparable(recorded: Bench) -> None:
    with endpoint(recorded):
        recorded.engine["execution"]["device"] = "NVIDIA A100-SXM4-80GB"
        says = r"of another class: device 'cpu', declared 'NVIDIA A100-SXM4-80GB'; record them on a machine"
        with pytest.raises(InputError, match=says):
            recorded.run()


def test_probes_may_lie_in_a_folder_of_their_own(recorded: Bench) -> None:
    PROBES.rename("kept")
    with endpoint(recorded) as engine:
        recorded.engine["probes"] = "kept"
        recorded.run()
    assert engine.asked == Counter(QA + TOOLS)


def test_a_run_that_starts_its_engine_records_probes(bench: Bench) -> None:
    generate(bench.params(), "bf16")
    [path] = PROBES.iterdir()
    record = read_record(path, ProbeRecord)
    engine = read_record(Layout.of("bench").engine("bf16"), EngineRecord)
    assert path.name == record.file_name
    assert path.name.startswith(engine.weights_digest[:12])
    assert (record.weights_digest, record.execution) == (engine.weights_digest, engine.execution)
    assert {tuple(probe.logprobs) for probe in record.probes} == {(-0.5,) * len("nine")}
    assert len({probe.prompt_sha256 for probe in record.probes}) == len(PROMPTS)
    assert len("nine") < TOKENS


def test_a_broken_reference_is_named(recorded: Bench) -> None:
    [path] = PROBES.iterdir()
    record = read_record(path, ProbeRecord)
    short = record.probes[0].model_copy(update={"logprobs": [-0.5]})
    write_record(path, record.model_copy(update={"probes": [short, *record.probes[1:]]}))
    with endpoint(recorded), pytest.raises(InputError, match=r"\.json: .*token_ids and logprobs differ in length"):
        recorded.run()


def test_probes_of_a_remote_engine_are_not_recorded(recorded: Bench) -> None:
    with (
        endpoint(recorded),
        pytest.raises(InputError, match=r"engine\.mode is remote: probes are recorded of an engine"),
    ):
        probe(recorded.params(), "bf16")


def test_a_version_that_is_not_the_declared_one_is_refused(recorded: Bench) -> None:
    with (
        endpoint(recorded, version="0.9.9"),
        pytest.raises(InputError, match=r"is version 0\.9\.9, .* declares 0\.0\.1"),
    ):
        recorded.run()
    with endpoint(recorded, version=None) as engine:
        recorded.run()
    assert engine.asked == Counter(QA + TOOLS)


@pytest.mark.parametrize("has_health", [True, False])
def test_an_endpoint_without_a_health_page_is_healthy_by_its_models(recorded: Bench, has_health: bool) -> None:
    with endpoint(recorded, has_health=has_health, steps={QA[0]: [Step(status=500), Step()]}) as engine:
        rows, _ = recorded.run()
    assert engine.asked[QA[0]] == 2
    assert {row.status for row in rows["qa"]} == {"ok"}


def test_an_endpoint_that_is_not_there_is_named_with_what_to_do(recorded: Bench) -> None:
    recorded.remote(f"http://127.0.0.1:{free_port()}")
    engine = recorded.params().engine
    assert isinstance(engine, RemoteEngine)
    impatient = engine.model_copy(update={"start_timeout_s": 0})
    with pytest.raises(InputError, match=r"not healthy within 0 s .*start the endpoint or correct engine\.url"):
        remote.await_healthy(impatient, None)


def test_an_answer_of_another_model_stops_the_run(recorded: Bench) -> None:
    with (
        endpoint(recorded, steps={QA[3]: [Step(model="fallback")]}),
        pytest.raises(InputError, match=r"qa-003: answered by fallback, asked of tiny@\w{12}; take the fallback"),
    ):
        recorded.run()


def test_the_key_comes_from_the_variable_that_is_named(recorded: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(recorded, keys=["right"]) as engine:
        with pytest.raises(InputError, match=r"engine\.api_key_env: ENDPOINT_KEY is not set"):
            recorded.run()
        monkeypatch.setenv("ENDPOINT_KEY", "wrong")
        with pytest.raises(InputError, match=r"refuses the key in ENDPOINT_KEY \(HTTP 401\)"):
            recorded.run()
        monkeypatch.setenv("ENDPOINT_KEY", "right")
        before = recorded.session().key
        recorded.run()
        assert engine.asked == Counter(QA + TOOLS)
        # Another key gives no other answers.
        monkeypatch.setenv("ENDPOINT_KEY", "other")
        assert recorded.session().key == before


def test_quantized_weights_need_their_kernel_declared(recorded: Bench) -> None:
    manifest = Layout.of("bench").manifest("bf16")
    manifest.write_text(manifest.read_text().replace('"weight_bits": 16', '"weight_bits": 4'))
    with endpoint(recorded), pytest.raises(InputError, match=r"engine\.execution\.kernels: none declared for bf16"):
        recorded.run()


def test_an_endpoint_that_dies_mid_run_is_resumed_without_loss(recorded: Bench) -> None:
    port = free_port()
    fatal = QA[4]
    recorded.play(Script(steps={fatal: [Step(fault="crash")]}))
    recorded.remote(f"http://127.0.0.1:{port}", concurrency=1)
    with server(recorded, port), pytest.raises(InputError, match=r"(\d) of 6 qa answers are kept; run again") as caught:
        recorded.run()
    assert "bring http://127.0.0.1" in str(caught.value)
    kept = recorded.asked()[:-1]  # the last one was being answered
    recorded.play(Script())
    with server(recorded, port):
        rows, _ = recorded.run()
    assert Counter(recorded.asked()) == Counter([*QA, *TOOLS, fatal])
    assert kept
    assert [row.item_id for row in rows["qa"]] == QA_IDS
    assert {row.status for suite in rows.values() for row in suite} == {"ok"}


@contextmanager
def server(bench: Bench, port: int) -> Iterator[None]:
    """The fake as a process that nobody of this project started."""
    checkpoint = str(Layout.of("bench").checkpoint("bf16"))
    words = ["--model", checkpoint, "--served-model-name", bench.name, "--port", str(port)]
    process = subprocess.Popen([*FAKE_ENGINE, *words], stdout=subprocess.DEVNULL)
    try:
        while not is_healthy(f"http://127.0.0.1:{port}"):
            assert process.poll() is None
        yield
    finally:
        process.kill()
        process.wait()


def test_a_load_test_needs_an_engine_that_it_starts(recorded: Bench) -> None:
    recorded.remote("http://127.0.0.1:9")
    loaded = LoadParams.model_validate(recorded.settings()).model_copy(update={"load": _Load()})
    with pytest.raises(InputError, match=r"engine\.mode is remote: a load test needs mode launch"):
        load(loaded, "bf16")


class _Load:
    """As much of a load test's settings as is read before the engine is looked at."""

    variants = ("bf16",)


def test_an_endpoint_is_reached_past_the_proxy(recorded: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with endpoint(recorded) as engine:
        recorded.run()
    assert engine.asked == Counter(QA + TOOLS)
