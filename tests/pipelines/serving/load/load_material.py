"""Settings of a small load test, and where the repository is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipelines.serving.load.settings import LoadSettings

ROOT = Path(__file__).resolve().parents[4]


def load_settings(**changes: Any) -> LoadSettings:
    """Three rates and two closed loops, two repeats of two requests each; `changes` replace whole fields."""
    settings: dict[str, Any] = {
        "variants": ["bf16"],
        "traffic": {"scenes": {"qa": 0.5, "tools": 0.5}},
        "requests": 2,
        "repeats": 2,
        "rates": [1.0, 2.0, 4.0],
        "concurrency": [1, 2],
        "long_tokens": 1000,
        "budget": {"ttft_ms": 500, "itl_ms": 100},
    }
    return LoadSettings.model_validate({**settings, **changes})
