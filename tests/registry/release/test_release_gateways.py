"""Configs for LiteLLM's proxy and production-stack's router, by their structure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from evalsets.records import InputError
from registry.release.backends import URL, Backends, Route
from registry.release.litellm_config import litellm_yaml
from registry.release.release_of import release_of
from registry.release.router_config import production_stack_json
from tests.registry.release.golden_files import routes
from tests.registry.release.release_material import BACKENDS, Material

# The fields that the router's documentation names ("Dynamic Router Config"); its own class takes no other.
SCHEMA = json.loads((Path(__file__).parent / "production_stack.schema.json").read_text())


def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(litellm_yaml(routes(), BACKENDS))
    return loaded


def router(made: list[Route], backends: Backends = BACKENDS) -> dict[str, str]:
    loaded: dict[str, str] = json.loads(production_stack_json(made, backends))
    return loaded


def test_every_deployment_has_a_weight() -> None:
    for entry in config()["model_list"]:
        weight = entry["litellm_params"]["weight"]
        assert type(weight) is int and weight > 0


def test_a_scene_is_a_model_and_its_engines_are_named_by_weights() -> None:
    found: dict[str, list[tuple[str, str, int]]] = {}
    for entry in config()["model_list"]:
        params = entry["litellm_params"]
        found.setdefault(entry["model_name"], []).append((params["model"], params["api_base"], params["weight"]))
    assert list(found) == ["qa", "qa-fallback", "tools", "tools-fallback", "contract"]
    awq, bf16 = (served.served_name for served in routes()[0].release.all_served)
    assert found["qa"] == [
        (f"hosted_vllm/{awq}", "http://awq-1.llm.svc.cluster.local:8000/v1", 1),
        (f"hosted_vllm/{awq}", "http://awq-2.llm.svc.cluster.local:8000/v1", 1),
        (f"hosted_vllm/{bf16}", "https://bf16.llm.example.com/v1", 38),
    ]
    assert found["qa-fallback"] == [(f"hosted_vllm/{bf16}", "https://bf16.llm.example.com/v1", 1)]


def test_a_scene_with_a_fallback_falls_back_and_keeps_its_sessions() -> None:
    settings = config()["router_settings"]
    assert settings["fallbacks"] == [{"qa": ["qa-fallback"]}, {"tools": ["tools-fallback"]}]
    assert settings["routing_strategy"] == "simple-shuffle"
    assert settings["model_group_affinity_config"] == {
        scene: ["session_affinity"] for scene in ("qa", "tools", "contract")
    }
    groups = {entry["model_name"] for entry in config()["model_list"]}
    assert {name for rule in settings["fallbacks"] for names in [*rule.values(), rule] for name in names} <= groups


def test_deployment_ids_are_unique_and_name_the_variant() -> None:
    ids = [entry["model_info"]["id"] for entry in config()["model_list"]]
    assert len(set(ids)) == len(ids)
    assert ids[:3] == ["qa/1/awq-int4", "qa/2/awq-int4", "qa/3/bf16"]


def test_the_router_file_is_of_the_documented_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    validator = Draft202012Validator(SCHEMA)
    for made in (routes(), routes()[:1], routes()[2:]):
        validator.validate(router(made))
    assert not validator.is_valid(router(routes()) | {"static_weights": "1"})


def test_the_routers_lists_belong_together() -> None:
    made = router(routes())
    urls, models, types = (made[f"static_{name}"].split(",") for name in ("backends", "models", "model_types"))
    assert len(urls) == len(models) == len(types) == 4
    assert len(set(urls)) == 4
    assert all(URL.fullmatch(url) for url in urls)
    aliases = dict(pair.split(":") for pair in made["static_aliases"].split(","))
    assert set(aliases.values()) <= set(models)


@pytest.mark.parametrize(("share", "serving"), [(1.0, 0), (0.95, 1), (0.05, 1), (0.0, 1)])
def test_a_scene_goes_to_its_fallback_until_the_release_has_all_sessions(share: float, serving: int) -> None:
    release = routes()[0].release
    made = router([Route(release, share)])
    aliases = dict(pair.split(":") for pair in made["static_aliases"].split(","))
    released, fallback = (served.served_name for served in release.all_served)
    assert aliases == {"qa": (released, fallback)[serving], "qa-fallback": fallback, "qa-candidate": released}


@pytest.mark.parametrize("export", [litellm_yaml, production_stack_json])
def test_an_engine_that_is_missing_is_named(export: Any) -> None:
    listed = Backends(backends={"awq-int4": ["http://localhost:1"]})
    with pytest.raises(InputError, match="no engine serves bf16; listed are: awq-int4; add its URL"):
        export(routes()[:1], listed)


def test_a_scene_in_chinese_is_a_model_too() -> None:
    material = Material(verdicts={"客服": [("awq-int4", "PASS")]}, serves={"客服": "awq-int4"})
    route = Route(release_of("客服", material.promotion(), material.bundle()))
    names = [entry["model_name"] for entry in yaml.safe_load(litellm_yaml([route], BACKENDS))["model_list"]]
    assert names == ["客服", "客服", "客服-fallback"]
    assert router([route])["static_aliases"].startswith("客服:qwen2.5-32b-instruct@")
