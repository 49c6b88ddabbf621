"""The dynamic config of production-stack's router (`--dynamic-config-json`). Pure.

Its fields are documented in `src/vllm_router/README.md` of vllm-project/production-stack, "Dynamic Router Config".
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from registry.release.backends import Backends, Route, check_names, group_names, served_once, urls_of

SESSION_HEADER = "x-session-id"


def production_stack_json(routes: Sequence[Route], backends: Backends) -> str:
    """The router's file: every engine with its model, and per scene an alias of what serves it.

    An alias has one target, so that no share can be written here: while a release has less than all sessions its
    scene stays with the fallback, and `<scene>-candidate` names the release for a gateway that splits sessions. Raises
    `InputError` where a variant has no engine.
    """
    check_names(routes)
    engines = [(url, name) for name, served in served_once(routes).items() for url in urls_of(served, backends)]
    aliases: dict[str, str] = {}
    for route in routes:
        scene, fallback, candidate = group_names(route.release.scene)
        aliases[scene] = route.steady.served_name
        if route.release.fallback is not None:
            aliases[fallback] = route.release.fallback.served_name
            aliases[candidate] = route.release.served.served_name
    config = {
        "service_discovery": "static",
        "routing_logic": "session",
        "session_key": SESSION_HEADER,
        "static_backends": ",".join(url for url, _ in engines),
        "static_models": ",".join(name for _, name in engines),
        "static_model_types": ",".join("chat" for _ in engines),
        "static_aliases": ",".join(f"{alias}:{name}" for alias, name in aliases.items()),
    }
    return json.dumps(config, ensure_ascii=False, indent=2) + "\n"
