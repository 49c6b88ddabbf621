"""How every stage's process begins and ends.

It begins with telemetry off, hubs offline and foreign progress bars silent where nobody looks (import this module
before any heavy library). It ends quietly, or with one line that says what is wrong and what to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from evalsets.records import InputError
from quantize.recipe import RecipeError

# One table for every process that is started, engines included.
QUIET = {
    "DO_NOT_TRACK": "1",
    "DVC_NO_ANALYTICS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "LLM_COMPRESSOR_LOG_LEVEL": "ERROR",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
os.environ.update(QUIET)
if not sys.stderr.isatty():
    os.environ.setdefault("TQDM_DISABLE", "1")


def go_online() -> None:
    """Let this process reach model hubs. Only fetch does."""
    os.environ.pop("HF_HUB_OFFLINE")
    os.environ.pop("TRANSFORMERS_OFFLINE")


def run_stage(work: Callable[[], object]) -> None:
    """Run a stage's work; bad input becomes its message on standard error and exit code 2."""
    try:
        work()
    except (InputError, RecipeError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
