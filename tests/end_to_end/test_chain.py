"""The whole chain on a tiny random Qwen2: real llm-compressor, AutoAWQ, vLLM and DVC, a real MLflow database.

A copy of the repository runs `dvc repro` under a profile of its own; then every digest in the promotion is traced back.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from mlflow import MlflowClient

from evalsets.load import load_qa
from quantize.chat_template import ChatTemplate

ROOT = Path(__file__).parent.parent.parent
HERE = Path(__file__).parent
INT4 = ["awq-int4", "awq-int4-autoawq"]
RUNS = ["bf16", *INT4, "fp8", "baseline-again"]
pytestmark = pytest.mark.heavy


def run(project: Path, *command: str) -> str:
    environment = os.environ | {"PATH": f"{project}/.venvs/control/bin:{os.environ['PATH']}"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    return done.stdout


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that has run the tiny profile once."""
    folder = tmp_path_factory.mktemp("project")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file() and name != "dvc.lock" and not name.startswith("evidence/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    (folder / ".venvs").symlink_to(ROOT / ".venvs")
    shutil.copyfile(HERE / "tiny.yaml", folder / "profiles" / "tiny.yaml")
    run(folder, "git", "init", "-q")
    run(folder, ".venvs/llmcompressor/bin/python", str(HERE / "tiny_model.py"), "tiny-model")
    run(folder, ".venvs/control/bin/python", "-m", "pipelines.profiles", "use", "tiny")
    run(folder, "dvc", "repro")
    return folder


def test_every_item_is_answered_once_and_judged(project: Path) -> None:
    root = project / "runs/tiny"
    for name in RUNS:
        for suite, count in (("qa", 8), ("tools", 6)):
            responses = [json.loads(line) for line in (root / f"responses/{name}/{suite}.jsonl").open()]
            verdicts = [json.loads(line) for line in (root / f"verdicts/{name}/{suite}.jsonl").open()]
            assert len({row["item_id"] for row in responses}) == len(responses) == count
            assert [row["item_id"] for row in verdicts] == [row["item_id"] for row in responses]
            assert all(row["status"] == "ok" and row["token_ids"] for row in responses)


def test_each_variant_ran_on_its_own_weights_and_kernel(project: Path) -> None:
    root = project / "runs/tiny"
    records = {name: load(root / f"engine/{name}.json") for name in RUNS}
    executions = {name: record["execution"] for name, record in records.items()}
    assert executions["bf16"] == executions["baseline-again"]
    # AutoAWQ's layout and compressed-tensors' end in one kernel: they differ in their weights alone.
    for name in INT4:
        assert executions[name]["weight_bits"] == 4
        assert executions[name]["linear_kernel"] == "CPUWNA16LinearKernel"
    # FP8 computes natively where the CPU can, and from dequantized weights where it cannot; never without saying so.
    assert (executions["fp8"]["activation_bits"], executions["fp8"]["note"]) in [(8, ""), (16, "w8a16-dequantized")]
    assert len({record["weights_digest"] for record in records.values()}) == 4
    assert len({record["generation_key"] for record in records.values()}) == 5


def test_autoawq_and_llm_compressor_meet_in_one_decision(project: Path) -> None:
    root = project / "runs/tiny"
    manifests = {name: load(root / f"checkpoints/{name}/manifest.json") for name in INT4}
    assert [manifests[name]["backend"] for name in INT4] == ["llmcompressor", "autoawq"]
    assert len({manifests[name]["calibration_sha256"] for name in INT4}) == 1
    assert {manifests[name]["calibration_rows_cut"] for name in INT4} == {0}
    assert "autoawq" in manifests["awq-int4-autoawq"]["versions"]
    decision = load(root / "decision.json")
    judged = {entry["candidate"]: entry for entry in decision["scenes"][0]["candidates"]}
    assert set(INT4) <= judged.keys()


def test_every_environment_loads_the_same_base(project: Path) -> None:
    """Three environments read one config. A lost rope_theta shifts these by 1 or more, bf16 noise by 0.05.

    The quantizers' environments have one transformers and one torch, so theirs may differ by 0.001 only.
    """
    root = project / "runs/tiny"
    items = {item.id: item for item in load_qa(project / "evalsets/data/qa.jsonl")}
    template = ChatTemplate(root / "base")
    rows = [json.loads(line) for line in (root / "responses/bf16/qa.jsonl").open()]
    chosen = [json.loads(line) for line in (root / "responses/bf16/qa.logprobs.jsonl").open()]
    asked = [
        [
            template.ids([m.model_dump(exclude_none=True) for m in items[row["item_id"]].messages], None),
            row["token_ids"][0],
        ]
        for row in rows
    ]
    scores = {}
    for environment in ("llmcompressor", "autoawq"):
        command = [project / f".venvs/{environment}/bin/python", HERE / "first_tokens.py", root / "base"]
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, check=True)
        scores[environment] = json.loads(done.stdout.splitlines()[-1])
    assert scores["llmcompressor"] == pytest.approx([row["logprobs"][0] for row in chosen], abs=0.25)
    assert scores["autoawq"] == pytest.approx(scores["llmcompressor"], abs=0.001)


def test_the_evidence_chain_reaches_from_alias_to_suite(project: Path) -> None:
    root = project / "runs/tiny"
    promotion, decision = load(root / "promotion.json"), load(root / "decision.json")
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    assert decision["exit_code"] == 0, decision["broken"]
    for scene in decision["scenes"]:
        version = client.get_model_version_by_alias("tiny-random-qwen2", scene["scene"])
        variant = scene["chosen"]
        # alias -> weights -> checkpoint -> base and recipe
        assert version.tags["weights_digest"] == decision["weights"][variant]
        manifest = load(root / f"checkpoints/{variant}/manifest.json")
        assert manifest["weights_digest"] == decision["weights"][variant]
        for name, digest in manifest["files"].items():
            assert sha256(root / f"checkpoints/{variant}" / name) == digest
        assert manifest["base_digest"] == load(root / "source.json")["digest"]
        recipe = project / yaml.safe_load((project / "params.yaml").read_text())["variants"][variant]["recipe"]
        assert manifest["recipe_sha256"] == sha256(recipe)
        assert promotion["scenes"][scene["scene"]]["weights_digest"] == decision["weights"][variant]
    # decision -> comparisons, engine records, manifests -> verdicts -> responses -> suites
    for name, digest in decision["inputs"].items():
        assert sha256(root / name) == digest, name
    for run_name in (*INT4, "fp8", "baseline-again"):
        comparison = load(root / f"comparisons/{run_name}.json")
        assert not comparison["mismatches"]
        for name, digest in comparison["inputs"].items():
            assert sha256(root / name) == digest, name
    for run_name in RUNS:
        record = load(root / f"engine/{run_name}.json")
        for suite, digest in record["responses"].items():
            assert sha256(root / f"responses/{run_name}/{suite}.jsonl") == digest
        assert record["shared"]["suites"]["qa"]["file_sha256"] == sha256(project / "evalsets/data/qa.jsonl")
        responses = {
            row["item_id"]: row
            for suite in ("qa", "tools")
            for row in map(json.loads, (root / f"responses/{run_name}/{suite}.jsonl").open())
        }
        for suite in ("qa", "tools"):
            for verdict in map(json.loads, (root / f"verdicts/{run_name}/{suite}.jsonl").open()):
                raw = responses[verdict["item_id"]]["raw"].encode("utf-8", "surrogatepass")
                assert verdict["raw_sha256"] == hashlib.sha256(raw).hexdigest()


def test_a_second_run_does_nothing(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (project / "runs").rglob("*") if path.is_file()}
    said = run(project, "dvc", "repro")
    assert [line for line in said.splitlines() if "Running stage" in line] == ["Running stage 'promote':"]
    after = {path: path.stat().st_mtime_ns for path in (project / "runs").rglob("*") if path.is_file()}
    changed = [path.name for path in after if before.get(path) != after[path]]
    assert set(changed) <= {"promotion.json"}
