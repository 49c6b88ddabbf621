"""A plan as text: short sections of aligned columns, every number with its basis. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from pipelines.planning.records import Amount, Plan, StageState
from pipelines.planning.times import ASSUMED
from pipelines.serving.capacity_text import GB

NUMBER = re.compile(r"[\d,.]+( [GM]B)?")
SHOWN_CHANGES = 3
WIDTH = 110
MB = 1e6
NEXT = {0: "the run may be started", 3: "refused: correct what is named above"}


def text(plan: Plan) -> str:
    """The whole plan. A GB is 1,000,000,000 bytes, a MB 1,000,000."""
    state = "active" if plan.active else "not active"
    head = f"Plan of profile {plan.profile} ({state}). Nothing was started or downloaded."
    sections = [
        _stages(plan),
        _sizes(plan),
        _memory(plan),
        _rooms(plan),
        _asked(plan),
        _load(plan),
        _times(plan),
        _gates(plan),
        _flags(plan),
        _attempts(plan),
        _section("warnings", [f"- {line}" for line in plan.warnings]),
        _section("refused", [f"- {line}" for line in plan.refusals]),
    ]
    last = f"exit code {plan.exit_code}: {NEXT[plan.exit_code]}"
    return "\n\n".join([head, *(section for section in sections if section), last])


def _section(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) if lines else ""


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines of columns of equal width. A column that ends in a number stands to the right, head and all."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [NUMBER.fullmatch(cell) is not None for cell in rows[-1]] if rows else []
    return [
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def size(count: int) -> str:
    """Bytes in GB, or in MB below a tenth of one."""
    return f"{count / GB:.2f} GB" if count >= GB / 10 else f"{count / MB:.2f} MB"


def _stages(plan: Plan) -> str:
    if not plan.active:
        title = f"stages, in order (state unknown: make use PROFILE={plan.profile} first)"
        return _section(
            title, textwrap.wrap(", ".join(stage.name for stage in plan.stages), WIDTH, break_on_hyphens=False)
        )
    rows = [(stage.name, stage.state, _why(stage)) for stage in plan.stages]
    return _section("stages, in order (follows: runs where what it reads comes out different)", aligned(rows))


def _why(stage: StageState) -> str:
    more = len(stage.why) - SHOWN_CHANGES
    return "; ".join(stage.why[:SHOWN_CHANGES]) + (f"; and {more} more" if more > 0 else "")


def _sizes(plan: Plan) -> str:
    model, disk = plan.model, plan.disk
    rows: list[tuple[str, str, str]] = [("parameters", f"{model.parameters.value:,}", model.parameters.basis)]
    rows.append(("base", *_gb(disk.base_bytes)))
    rows += [(f"checkpoint {name}", *_gb(size)) for name, size in disk.checkpoint_bytes.items()]
    if disk.twin_bytes is not None:
        rows.append(("dequantized for serving", *_gb(disk.twin_bytes)))
    rows += [
        ("disk wanted, staging included", *_gb(disk.wanted_bytes)),
        ("disk kept in the end", *_gb(disk.kept_bytes)),
        ("of it here already", *_gb(disk.present_bytes)),
        ("disk free here", *_gb(disk.free_bytes)),
    ]
    return _section(f"model and disk: {model.name} at {model.revision[:12]}, shapes from {model.config}", aligned(rows))


def _memory(plan: Plan) -> str:
    rows = [("step", "host", "", "accelerator", "", "AWQ, per tensor", "", "")]
    for step in plan.memory:
        cells = [cell for one in (step.host_bytes, step.card_bytes, step.cache_bytes) for cell in _gb(one)]
        rows.append((step.step, cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], step.note))
    return _section("memory per step", aligned(rows))


def _rooms(plan: Plan) -> str:
    if not plan.rooms:
        return ""
    on = f"{plan.tensor_parallel} x {plan.card}" if plan.tensor_parallel > 1 else plan.card
    names = [room.variant for room in plan.rooms]
    rows = [["", *names, ""]]
    rows.append(["weights", *(size(room.weight_bytes.value) for room in plan.rooms), "calculated"])
    rows.append(["KV room", *(size(room.kv_room_bytes.value) for room in plan.rooms), "calculated"])
    rows.append(["KV bytes per token", *(f"{room.kv_bytes_per_token.value:,}" for room in plan.rooms), "calculated"])
    rows.append(["KV tokens", *(f"{room.kv_tokens.value:,}" for room in plan.rooms), "calculated"])
    for one in plan.lengths:
        counts = [room.sequences[one.kind] for room in plan.rooms]
        name = f"at once: {one.kind}, {one.prompt_tokens.value:,} + {one.answer_tokens.value:,} tokens"
        rows.append([name, *(f"{count.value:,}" for count in counts), counts[0].basis])
    return _section(f"serving, on each card of {on}" if plan.tensor_parallel > 1 else f"serving on {on}", aligned(rows))


def _asked(plan: Plan) -> str:
    rows = [["run", "suite", "requests", "prompt tokens", "", "answer tokens at most", ""]]
    for one in plan.asked:
        prompt, answer = one.prompt_tokens, one.most_answer_tokens
        counts = [f"{one.requests:,}", f"{prompt.value:,}", prompt.basis, f"{answer.value:,}", answer.basis]
        rows.append([one.run, one.suite, *counts])
    requests = sum(one.requests for one in plan.asked)
    prompts = sum(one.prompt_tokens.value for one in plan.asked)
    answers = sum(one.most_answer_tokens.value for one in plan.asked)
    basis = plan.asked[0].prompt_tokens.basis
    rows.append(["all", "", f"{requests:,}", f"{prompts:,}", basis, f"{answers:,}", "calculated"])
    return _section(f"what is asked (prompts {_how(basis)})", aligned(rows))


def _load(plan: Plan) -> str:
    if not plan.load:
        return ""
    rows = [["variant", "sets of flags", "left out", "passes", "requests", "prompt tokens", "answer tokens", ""]]
    for one in plan.load:
        counts = [len(one.flags), len(one.left_out), one.passes, one.requests]
        tokens = [one.prompt_tokens.value, one.answer_tokens.value]
        rows.append([one.variant, *(f"{count:,}" for count in [*counts, *tokens]), one.prompt_tokens.basis])
    return _section(f"load test (tokens {_how(plan.load[0].prompt_tokens.basis)}, the mean request)", aligned(rows))


def _times(plan: Plan) -> str:
    if not plan.times:
        return ""
    rows = [(one.stage, _about(one.seconds)) for one in plan.times]
    return _section("time, an order of magnitude (calculated)", [*aligned(rows), ASSUMED])


def _about(seconds: int) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{max(1, round(seconds / 60))} min"


def _gates(plan: Plan) -> str:
    rows = [
        (one.key, "decidable" if one.decidable else "UNDECIDABLE", f"{one.items} items: {one.why}")
        for one in plan.gates
    ]
    return _section("gates (calculated)", aligned(rows))


def _flags(plan: Plan) -> str:
    check = plan.flags
    if check.why:
        return _section("engine flags", [f"not checked: {check.why}"])
    return _section("engine flags", [f"{check.checked} command lines, {len(check.problems)} refused by {check.engine}"])


def _attempts(plan: Plan) -> str:
    rows = [(one.run, one.suite, f"attempt {one.number} at most of {one.declared} declared") for one in plan.attempts]
    return _section("attempts, were other answers to come", aligned(rows))


def _gb(amount: Amount | None) -> tuple[str, str]:
    return ("", "") if amount is None else (size(amount.value), amount.basis)


def _how(basis: str) -> str:
    return "counted with the tokenizer" if basis == "calculated" else "estimated by characters"
