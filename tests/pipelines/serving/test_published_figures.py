"""The document of quoted figures: its tables are the code's, its numbers are in them, and the arithmetic is right."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.pipelines.serving import quoted_serving
from tests.pipelines.serving.published_figures import HEAD, INPUTS, SECTIONS, tables

ROOT = Path(__file__).parents[3]
DOC = (ROOT / "docs" / "published-figures.md").read_text("utf-8")
# A number that stands alone: not the 4 of INT4, nor the 32 of 32B.
NUMBER = re.compile(r"(?<![\w.,])[-+]?\d[\d,]*(?:\.\d+)?(?!\w)")

GIB = 2**30
LINEAR = 64 * 5120 * (5120 + 2 * 1024 + 5120 + 3 * 27648)
OTHER = 2 * 152064 * 5120 + 64 * (2 * 5120 + 7168) + 5120
KV = 64 * 8 * 128 * 2 * 2
PEAK = 312e12
ROOM = math.floor(79.25 * GIB * 0.92) - 3 * GIB
BF16 = 2 * (LINEAR + OTHER)
FP8 = LINEAR + 2 * OTHER + 2 * 64 * (5120 + 2 * 1024 + 5120 + 2 * 27648 + 5120)
INT4 = LINEAR // 2 + LINEAR // 128 * 2 + LINEAR // 256 + 2 * OTHER + 16 * 7 * 64


def prefill(tokens: int) -> float:
    """FLOP of a prefill, written out."""
    return 2 * LINEAR * tokens + 4 * 64 * 5120 * tokens * (tokens + 1) / 2


def busy(rate: float, output: int, prompt: float) -> float:
    """FLOP/s at a rate of output tokens, attention to earlier tokens left out."""
    per_token = 2 * LINEAR
    return rate * (prompt / output * (per_token + 4 * 64 * 5120) + per_token + 2 * 152064 * 5120)


# Heading, beginning of a row, and what must stand in its third column: computed here a second time, by hand.
EXPECTED = [
    ("The model on the card", "parameters", f"{LINEAR + OTHER:,}"),
    ("The model on the card", "weights", f"{BF16 / 1e9:.1f} GB / {FP8 / 1e9:.1f} GB / {INT4 / 1e9:.1f} GB"),
    ("The model on the card", "weights", "65.5 GB / 34.3 GB / 19.3 GB"),
    ("The model on the card", "KV bytes per token", "262,144"),
    ("The model on the card", "KV tokens", f"{(ROOM - BF16) // KV // 16 * 16:,}"),
    ("The model on the card", "KV tokens", f"{(ROOM - INT4) // KV // 16 * 16:,}"),
    ("Prefix caching", "hit rate, single-turn", f"{100 * 1712 / 3200:.1f} %"),
    ("Prefix caching", "hit rate, single-turn", f"{100 * 1712 / 1840:.1f} %"),
    ("Prefix caching", "requests that share", f"{84.7 * 1712 / 3200:.1f} %"),
    ("Quantization", "INT4 loses on 640", f"{100 * 15 / 640:.2f} pp"),
    ("Quantization", "INT4 loses on 180", f"{100 * 10 / 180:.2f} pp"),
    ("Quantization", "FP8", f"{0.003 * 180:.2f} of a call"),
    ("Quantization", "12900.0000001", f"{100 * 11 / 180:.1f} %"),
    ("Quantization", "12900.0000001", f"{1e-7 / 2**-39:,.0f} steps of a double"),
    ("Quantization", "12900.0000001", f"{1e-7 / 2**-10:.4f} of a float"),
    (
        "A variant per scene",
        "fleet memory",
        f"weights -{100 - 100 * (0.61 * INT4 + 0.35 * FP8 + 0.04 * BF16) / BF16:.1f} %",
    ),
    ("A variant per scene", "fleet memory", "-59.7 %"),
    ("A variant per scene", "traffic-weighted", f"{0.61 * 2.3:.2f} pp"),
    ("A variant per scene", "traffic-weighted", f"{0.61 * 2.3 + 0.35 * 0.3:.2f} pp"),
    ("Memory", "KV pool", f"{(24e9 + BF16) / 1e9:.1f} GB of {79.25 * GIB / 1e9:.1f} GB"),
    ("Memory", "memory held", f"of 80 GB {0.81 * 80:.1f} GB"),
    ("Memory", "pool used", f"{100 * 16 * 3600 * KV / 24e9:.0f} %"),
    ("Batching", "throughput saturates", f"{(ROOM - BF16) // KV // 3600} (bf16)"),
    ("Batching", "throughput saturates", f"{(ROOM - FP8) // KV // 3600} (FP8)"),
    ("Batching", "throughput saturates", f"{(ROOM - INT4) // KV // 3600} (INT4)"),
    ("Batching", "max-num-seqs", f"{320 * 3600 * KV / 1e9:.1f} GB"),
    ("Batching", "max-num-seqs", f"{320 * (3200 - 1712 + 412) * KV / 1e9:.1f} GB with the prefix shared"),
    ("Batching", "output tok/s", f"{100 * busy(1090, 400, 3200 - 1712) / PEAK:.0f} %"),
    ("Batching", "chunks", f"{-(-12000 // 8192)}; 8 take 1,500 to 1,714"),
    ("Batching", "prefill", f"{1000 * prefill(12000) / PEAK:,.0f} ms"),
    ("All together", "tok/s per card", f"{1180 / 240:.2f} times"),
    ("All together", "unit cost", f"{100 * (240 / 1180 - 1):.1f} %"),
    ("All together", "unit cost", f"{240 / (1 - 0.71):.0f} tok/s"),
    ("All together", "output tok/s, nothing", f"{100 * busy(240, 400, 3200) / PEAK:.0f} %"),
    ("All together", "output tok/s, 53.5", f"{100 * busy(1180, 412, 3200 - 1712) / PEAK:.0f} %"),
    ("All together", "tok/s, prompt", f"{1180 * 412 / 3612:.0f} output"),
    ("All together", "bill", f"{416000 / 8 / 720:.2f} yuan per card and hour"),
    ("All together", "bill", f"{416000 / 8 / 720 / 240 / 3600 * 1e6:.2f} yuan per million"),
    ("What went wrong", "all caches", f"{3200 / (3200 - 1712):.2f} times"),
    ("What went wrong", "a strict validator", f"{0.9 / 0.04:.1f} times"),
    ("What went wrong", "a strict validator", f"{100 * 0.9996**180:.1f} %"),
    ("What went wrong", "after relaxing", f"{0.9 - 0.11:.2f} pp"),
    ("Loading keys and values instead of computing them", "KV of", f"{3200 * KV / 1e6:.0f} MB"),
    ("Loading keys and values instead of computing them", "over the network", f"{340 * 3200 * KV / 480e6:.0f} ms"),
    ("Loading keys and values instead of computing them", "computed again", f"{1000 * prefill(3200) / PEAK:.0f} ms"),
    (
        "Loading keys and values instead of computing them",
        "worth it",
        f"{3200 * KV / prefill(3200) * PEAK / 1e9:.2f} GB/s",
    ),
    ("Would two cards per replica explain it?", "pool used", f"{100 * 16 * 3600 * KV / 2 / 24e9:.1f} %"),
    ("Would two cards per replica explain it?", "prefill", f"{1000 * prefill(12000) / PEAK / 2:,.0f} ms"),
    ("Would two cards per replica explain it?", "max-num-seqs", f"{320 * 3600 * KV / 2 / 1e9:.1f} GB"),
]


@pytest.mark.parametrize("heading", [INPUTS, *SECTIONS])
def test_the_documents_table_is_the_codes(heading: str) -> None:
    section = DOC.split(f"\n## {heading}\n\n")[1].split("\n## ")[0]
    table = tables()[heading]
    assert section.startswith(table)
    assert [line for line in section.splitlines() if line.startswith("|")] == table.splitlines()


def test_no_number_of_the_document_stands_outside_a_table() -> None:
    lines = DOC.splitlines()
    cells = "\n".join(line for line in lines if line.startswith("|"))
    prose = "\n".join(line for line in lines if not line.startswith("|"))
    formula = "1 - (1 - exp(-n)) / n"
    assert formula in prose
    assert set(NUMBER.findall(prose.replace(formula, ""))) <= set(NUMBER.findall(cells))


def test_every_section_of_the_document_has_its_table() -> None:
    assert re.findall(r"^## (.+)$", DOC, re.MULTILINE) == [INPUTS, *SECTIONS]


def test_the_verdict_column_holds_no_number_of_any_basis() -> None:
    assert HEAD == ["figure", "quoted", "calculated (A100 80G)", "so"]
    assert not [row for rows in SECTIONS.values() for row in rows() if NUMBER.search(row[3].replace("bf16", ""))]


@pytest.mark.parametrize(("heading", "figure", "wanted"), EXPECTED, ids=lambda value: value[:40])
def test_the_arithmetic_written_out_gives_the_same(heading: str, figure: str, wanted: str) -> None:
    found = [row[2] for row in SECTIONS[heading]() if row[0].startswith(figure)]
    assert len(found) == 1
    assert wanted in found[0]


@pytest.mark.parametrize(("share", "per_minute"), [(0.003, 0.006), (0.34, 0.9), (0.92, 12.5)])
def test_the_rates_behind_the_minute_stamp(share: float, per_minute: float) -> None:
    assert quoted_serving.rate_for(share) == pytest.approx(per_minute, rel=0.01)
    assert 1 - (1 - math.exp(-per_minute)) / per_minute == pytest.approx(share, abs=0.002)


def test_the_hit_rate_that_the_bound_needs_is_just_enough() -> None:
    needed = quoted_serving.hit_needed(1.0)
    assert quoted_serving.flops_per_s(1180, 412, 3200 * (1 - needed)) == pytest.approx(PEAK)
    assert needed > 1712 / 3200


def test_the_default_buckets_do_not_part_the_two_latencies() -> None:
    row = next(row for row in quoted_serving.batching() if row[0] == "P99 TTFT")
    first, second, third = (int(text.replace(",", "")) / 1000 for text in re.findall(r"[\d,]*\d", row[1]))
    bucket = [sum(latency > bound for bound in quoted_serving.TTFT_BUCKETS_S) for latency in (first, second, third)]
    assert bucket[0] == bucket[1] < bucket[2]


@pytest.mark.heavy
def test_the_buckets_are_the_pinned_engines() -> None:
    (source,) = (ROOT / ".venvs/vllm").glob("lib/python*/site-packages/vllm/v1/metrics/buckets.py")
    block = re.search(r"TIME_TO_FIRST_TOKEN_BUCKETS: [^=]+= \(([^)]+)\)", source.read_text("utf-8"))
    assert block
    bounds = tuple(float(text) for text in block[1].split(",") if text.strip())
    assert tuple(bound for bound in bounds if 1 <= bound <= 5) == quoted_serving.TTFT_BUCKETS_S
