"""Alert rules and dashboard: their structure, and that they ask only for metrics on the list."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from registry.release.alert_rules import Limits, alerts_yaml
from registry.release.dashboard import dashboard_json
from registry.release.engine_metrics import METRICS, counted, gauge, quantile, selector
from registry.release.release import Release
from tests.registry.release.golden_files import routes

QA, _, CONTRACT = (route.release for route in routes())
ENDS = {"counter": {"_total"}, "gauge": {""}, "histogram": {"_bucket"}}


def rules(release: Release, limits: Limits | None = None) -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(alerts_yaml(release, limits))["groups"]
    assert group["name"] == f"release-{release.scene}"
    found: list[dict[str, Any]] = group["rules"]
    return found


def panels(release: Release) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard_json(release))["panels"]
    return found


def expressions(release: Release) -> list[str]:
    asked = [target["expr"] for panel in panels(release) for target in panel["targets"]]
    return [rule["expr"] for rule in rules(release)] + asked


@pytest.mark.parametrize("release", [QA, CONTRACT], ids=["fallback", "baseline"])
def test_only_listed_metrics_are_asked_for_by_the_name_they_are_scraped_under(release: Release) -> None:
    asked = {name for text in expressions(release) for name in re.findall(r"vllm:\w+", text)}
    for name in asked:
        known = next(
            known for known in METRICS if name.startswith(known) and name[len(known) :] in ENDS[METRICS[known]]
        )
        assert known in METRICS
    stems = {re.sub(r"_(total|bucket)$", "", name) for name in asked}
    assert stems == METRICS.keys()


@pytest.mark.parametrize("release", [QA, CONTRACT], ids=["fallback", "baseline"])
def test_every_series_names_its_model(release: Release) -> None:
    names = {served.served_name for served in release.all_served}
    for text in expressions(release):
        selectors = re.findall(r'vllm:\w+\{model_name="([^"]+)"', text)
        assert len(selectors) == text.count("vllm:") > 0
        assert set(selectors) <= names
        assert text.count("(") == text.count(")")


def test_a_rule_is_whole() -> None:
    found = rules(QA)
    for rule in found:
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Z][A-Za-z]+", rule["alert"])
        assert re.fullmatch(r"\d+m", rule["for"])
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["labels"]["scene"] == "qa"
        assert rule["annotations"]["summary"].startswith(f"qa: {rule['labels']['variant']}: ")
    alerts = [(rule["alert"], rule["labels"]["variant"]) for rule in found]
    assert len(set(alerts)) == len(alerts) == 16
    assert {variant for _, variant in alerts} == {"awq-int4", "bf16"}
    assert len(rules(CONTRACT)) == 8


def test_without_prefix_caching_nobody_misses_its_hits() -> None:
    flags = [flag for flag in CONTRACT.served.flags if flag != "--enable-prefix-caching"]
    release = CONTRACT.model_copy(update={"served": CONTRACT.served.model_copy(update={"flags": flags})})
    assert {rule["alert"] for rule in rules(CONTRACT)} - {rule["alert"] for rule in rules(release)} == {
        "VllmPrefixHitsFallen"
    }


def test_a_budget_takes_the_place_of_the_day_before() -> None:
    def slow(limits: Limits | None) -> str:
        (expression,) = (rule["expr"] for rule in rules(CONTRACT, limits) if rule["alert"] == "VllmFirstTokenSlow")
        return str(expression)

    assert "offset 1d" in slow(None)
    budgeted = slow(Limits(first_token_s=1.5))
    assert budgeted.endswith(" > 1.5")
    assert "offset" not in budgeted


def test_limits_are_in_the_rules() -> None:
    limits = Limits(kv_cache_usage=0.75, cut_off_rate=0.03, worse_than_before=3)
    text = "\n".join(rule["expr"] for rule in rules(CONTRACT, limits))
    for wanted in ("> 0.75\n", "> 0.03", "> 3 * ", ") / 3"):
        assert wanted in text
    with pytest.raises(ValidationError):
        Limits(kv_cache_usage=1.2)


def test_the_dashboard_has_eight_panels_that_do_not_overlap() -> None:
    found = panels(QA)
    assert 5 <= len(found) == 8
    assert len({panel["id"] for panel in found}) == len(found)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in found}
    assert len(places) == len(found)
    assert places == {(x, y) for x in (0, 12) for y in (0, 8, 16, 24)}
    for panel in found:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["fieldConfig"]["defaults"]["unit"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters) > 0
        assert {target["legendFormat"].split(" ")[0] for target in panel["targets"]} == {"awq-int4", "bf16"}


def test_the_dashboard_is_the_scenes_own() -> None:
    made = [json.loads(dashboard_json(release)) for release in (QA, CONTRACT)]
    assert len({board["uid"] for board in made}) == 2
    assert all(re.fullmatch(r"[0-9a-f]{16}", board["uid"]) for board in made)
    assert [board["title"] for board in made] == ["Release qa (a100)", "Release contract (a100)"]


def test_a_served_name_is_quoted_in_promql() -> None:
    assert selector('a"b\\c模') == '{model_name="a\\"b\\\\c模"}'
    assert gauge("vllm:kv_cache_usage_perc", "m", "max") == 'max(vllm:kv_cache_usage_perc{model_name="m"})'
    assert counted("vllm:generation_tokens", "m", "5m") == 'sum(rate(vllm:generation_tokens_total{model_name="m"}[5m]))'


def test_a_quantile_of_a_counter_is_refused() -> None:
    with pytest.raises(AssertionError, match="is a counter, not a histogram"):
        quantile("vllm:generation_tokens", "m", 0.5, "5m")
