"""LiteLLM's proxy config: a model per scene, its engines weighted, its fallback. Pure.

Written for LiteLLM 1.106: `weight` stands on every deployment, since older versions ignore all weights where the first
one has none; sessions stay with their engine through `model_group_affinity_config`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from registry.release.backends import Backends, Deployment, Route, check_names, group_names, split, urls_of
from registry.release.yaml_text import yaml_text

# LiteLLM's name for an OpenAI-compatible vLLM server.
PROVIDER = "hosted_vllm/"
RETRIES = 1


def litellm_yaml(routes: Sequence[Route], backends: Backends) -> str:
    """The config of a proxy in front of these scenes. Raises `InputError` where a variant has no engine."""
    check_names(routes)
    fallbacks = [
        {scene: [fallback]}
        for route in routes
        if route.release.fallback is not None
        for scene, fallback, _ in [group_names(route.release.scene)]
    ]
    config: dict[str, Any] = {
        "model_list": [entry for route in routes for entry in _entries(route, backends)],
        "router_settings": {
            "routing_strategy": "simple-shuffle",
            "num_retries": RETRIES,
            "fallbacks": fallbacks,
            "model_group_affinity_config": {route.release.scene: ["session_affinity"] for route in routes},
        },
    }
    return yaml_text(config)


def _entries(route: Route, backends: Backends) -> list[dict[str, Any]]:
    scene, fallback, _ = group_names(route.release.scene)
    entries = [_entry(scene, number, member) for number, member in enumerate(split(route, backends), 1)]
    served = route.release.fallback
    if served is not None:
        members = [Deployment(served, url, 1) for url in urls_of(served, backends)]
        entries += [_entry(fallback, number, member) for number, member in enumerate(members, 1)]
    return entries


def _entry(group: str, number: int, member: Deployment) -> dict[str, Any]:
    return {
        "model_name": group,
        "litellm_params": {
            "model": PROVIDER + member.served.served_name,
            "api_base": f"{member.url}/v1",
            "weight": member.weight,
        },
        # Comes back in every answer's x-litellm-model-id: which variant spoke.
        "model_info": {"id": f"{group}/{number}/{member.served.variant}"},
    }
