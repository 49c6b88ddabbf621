"""What a reviewer sees in MLflow's own pages, in a real browser, after promotions of fabricated runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from registry.store.apply import roll_back
from registry.store.mlflow_store import Store
from tests.registry.store.probe import FP8, MODEL, NONE, make_run, promoted, runs_of
from tests.system import tracking
from tests.system.browser import Browser, browsing

# Text as a model could have written it: it must read as it is written.
REASON = 'lower <b>bound</b> -1.5 pp: [5](javascript:1) of "96" | $3^2 & _more_'


@dataclass(frozen=True)
class Pages:
    """The addresses of what was promoted."""

    root: str
    serving: int
    evaluation: str
    measured: dict[str, str]
    experiments: dict[str, str]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """MLflow's server on a database with two promotions and a rollback."""
    folder = tmp_path_factory.mktemp("ui")
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    store = Store(uri)
    first = make_run(folder / "1", FP8, reason=REASON)
    first.layout.report.with_suffix(".html").write_text("<h1>The whole report</h1>")
    serving = promoted(store, first).scenes["qa"].version
    evaluation = runs_of(store, "evaluations")[0]
    measured = {run.data.tags["run"]: run.info.run_id for run in runs_of(store, "measurements")}
    promoted(store, make_run(folder / "2", NONE, reason=REASON))
    roll_back(store, MODEL, "qa", "amounts drift in production")
    names = ("evaluations", "measurements", "promotions")
    experiments = {name: store.client.get_experiment_by_name(name).experiment_id for name in names}
    with tracking.serving(uri, folder / "server", workers=1) as root:
        yield Pages(root, serving, evaluation.info.run_id, measured, experiments)


@pytest.fixture(scope="module")
def browser(screenshots: Path) -> Iterator[Browser]:
    with browsing(screenshots) as found:
        yield found


def test_the_model_page_lists_versions_with_verdicts_and_aliases(pages: Pages, browser: Browser) -> None:
    browser.open(f"{pages.root}/#/models/{MODEL}")
    shown = browser.sees("Version 3", "@ qa", "hardware", "verdict.qa", "fp8. qa")
    browser.picture("mlflow-model")
    assert all(f"@ {alias}" in shown for alias in ("qa", "qa-previous", "qa-candidate", "contract"))


def test_the_version_page_says_verdicts_reasons_and_tags(pages: Pages, browser: Browser) -> None:
    browser.open(f"{pages.root}/#/models/{MODEL}/versions/{pages.serving}")
    shown = browser.sees("@ qa", "noninferiority qa", "-1.50 pp", "gate_eligible_hardware", "org/model")
    browser.picture("mlflow-version")
    assert REASON in shown
    assert "FAIL" in shown
    assert "\\" not in shown


def test_the_evaluation_run_shows_note_table_and_report(pages: Pages, browser: Browser) -> None:
    address = f"{pages.root}/#/experiments/{pages.experiments['evaluations']}/runs/{pages.evaluation}"
    browser.open(address)
    browser.sees("qa fp8, contract bf16. Exit code 0.", "accuracy_strict/qa/fp8", REASON)
    browser.picture("mlflow-evaluation")
    browser.open(f"{address}/artifacts")
    browser.click("eval_results_table.json")
    browser.sees("baseline-again", "qa-001", "ok")
    browser.picture("mlflow-table")
    browser.click("report.html")
    browser.sees("The whole report")
    browser.click("report.md")
    browser.sees("Report")
    browser.picture("mlflow-report")


def test_variants_are_compared_by_suite_and_error_class(pages: Pages, browser: Browser) -> None:
    runs = quote(json.dumps([pages.measured[run] for run in ("bf16", "awq-int4", "fp8")]))
    experiments = quote(json.dumps([pages.experiments["measurements"]]))
    browser.open(f"{pages.root}/#/compare-runs?runs={runs}&experiments={experiments}")
    browser.sees("Comparing 3 Runs", "qa/accuracy_strict", "qa/errors/json_syntax.trailing_comma", "verdict/qa", "FAIL")
    browser.picture("mlflow-comparison")


def test_answers_of_several_variants_stand_side_by_side_item_by_item(pages: Pages, browser: Browser) -> None:
    runs = f"{pages.root}/#/experiments/{pages.experiments['measurements']}/runs"
    browser.open(f"{runs}?compareRunsMode=ARTIFACT")
    browser.sees("eval_results_table.json", "Group by: item", "Compare: answer", "qa-001", "42 1")
    browser.picture("mlflow-answers")
    browser.open(f"{runs}?compareRunsMode=CHART")
    browser.sees("qa/errors", "qa/losses")
    browser.picture("mlflow-charts")


def test_the_journal_lists_moves_and_says_why(pages: Pages, browser: Browser) -> None:
    browser.open(f"{pages.root}/#/experiments/{pages.experiments['promotions']}/runs")
    browser.sees("qa -> fp8, 3 (rollback)", "qa-previous -> fp8, 3", "contract -> bf16, 1")
    browser.picture("mlflow-journal")
