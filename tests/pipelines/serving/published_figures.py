"""The tables of docs/published-figures.md: `python -m tests.pipelines.serving.published_figures` prints them."""

from __future__ import annotations

from collections.abc import Callable

from pipelines.reporting.text import table
from tests.pipelines.serving import quoted_quality, quoted_serving
from tests.pipelines.serving.quoted_case import Row

INPUTS = "What it is calculated from"
INPUTS_HEAD = ["input", "value", "from"]
HEAD = ["figure", "quoted", "calculated (A100 80G)", "so"]
SECTIONS: dict[str, Callable[[], list[Row]]] = {
    "The model on the card": quoted_serving.model,
    "Prefix caching": quoted_serving.prefix,
    "Quantization": quoted_quality.quantization,
    "A variant per scene": quoted_quality.scenes,
    "Memory": quoted_serving.memory,
    "Batching": quoted_serving.batching,
    "All together": quoted_serving.together,
    "What went wrong": quoted_quality.pits,
    "The guardrail": quoted_quality.guardrail,
    "Loading keys and values instead of computing them": quoted_serving.offloading,
    "Would two cards per replica explain it?": quoted_serving.two_cards,
}


def tables() -> dict[str, str]:
    """Per heading of the document its table, as Markdown."""
    inputs = {INPUTS: table(INPUTS_HEAD, quoted_serving.inputs())}
    return inputs | {heading: table(HEAD, rows()) for heading, rows in SECTIONS.items()}


def main() -> None:
    """Print every table under its heading."""
    for heading, text in tables().items():
        print(f"## {heading}\n\n{text}\n")


if __name__ == "__main__":
    main()
