"""Every file of a release as text, by name. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from registry.release.alert_rules import Limits, alerts_yaml
from registry.release.backends import Backends, Route
from registry.release.dashboard import dashboard_json
from registry.release.engine_files import vllm_args, vllm_env, vllm_yaml
from registry.release.litellm_config import litellm_yaml
from registry.release.release import Release
from registry.release.router_config import production_stack_json
from registry.release.yaml_text import yaml_text

RELEASE = "release.yaml"
OF_FALLBACK = "fallback."
ENGINE = ("vllm.args", "vllm.yaml", "vllm.env")
# Whatever a scene's folder may hold; what a later release has no more of these is removed.
NAMES = {RELEASE, "litellm.yaml", "production-stack.json", "alerts.yaml", "dashboard.json"}
NAMES |= {prefix + name for prefix in ("", OF_FALLBACK) for name in ENGINE}


def scene_files(route: Route, backends: Backends, limits: Limits | None = None) -> dict[str, str]:
    """The files of one scene. `fallback.vllm.*` are there where a fallback is.

    Raises `InputError` where a variant has no engine or a flag cannot be written.
    """
    release = route.release
    files = {
        RELEASE: release_yaml(release),
        "litellm.yaml": litellm_yaml([route], backends),
        "production-stack.json": production_stack_json([route], backends),
        "alerts.yaml": alerts_yaml(release, limits),
        "dashboard.json": dashboard_json(release),
    }
    for prefix, served in zip(("", OF_FALLBACK), release.all_served, strict=False):
        texts = (vllm_args(served), vllm_yaml(served), vllm_env(served))
        files |= {prefix + name: text for name, text in zip(ENGINE, texts, strict=True)}
    return files


def fleet_files(routes: Sequence[Route], backends: Backends) -> dict[str, str]:
    """The files of a gateway in front of all scenes at once."""
    return {
        "litellm.yaml": litellm_yaml(routes, backends),
        "production-stack.json": production_stack_json(routes, backends),
    }


def release_yaml(release: Release) -> str:
    """The release itself; what is not known is null."""
    return yaml_text(release.model_dump(mode="json"))
