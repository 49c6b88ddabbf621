"""Which cell stands for a load profile, and its numbers as metrics of the registry. Pure."""

from __future__ import annotations

from registry.load_profile import Cell, LoadProfile

ALL = "all"  # the group of latencies that holds every request
WITHIN, OVER = "highest rate within the budget", "lowest rate, over the budget"


def cold_open(load: LoadProfile) -> list[Cell]:
    """The open-loop cells with an emptied prefix cache, by ascending rate."""
    found = [(cell.rate, cell) for cell in load.cells if cell.cache == "cold" and cell.rate is not None]
    return [cell for _, cell in sorted(found, key=lambda pair: pair[0])]


def representative(load: LoadProfile) -> Cell | None:
    """The cell within the budget, else the cold one with the lowest rate; None where there is no cold open loop."""
    return load.within_budget() or next(iter(cold_open(load)), None)


def saturated(load: LoadProfile) -> Cell | None:
    """The closed-loop cell at the saturation point; None where its concurrency is not among the cells."""
    point = load.saturation
    return next((cell for cell in point.cells if cell.concurrency == point.concurrency), None)


def load_metrics(load: LoadProfile) -> dict[str, float]:
    """The metrics of a variant, the same names for each: `load/ttft_p_ms` is the tail that `load/tail_quantile` names.

    Rates and throughputs per second, times in milliseconds, shares from 0 to 1. `load/within_budget` is 1 where the
    cell kept the budget, else 0.
    """
    cell, top = representative(load), saturated(load)
    found: dict[str, float] = {"load/saturation_concurrency": load.saturation.concurrency}
    if top is not None:
        found["load/saturation_requests_s"] = top.requests_s.estimate
    if cell is None:
        return found
    found |= {
        "load/within_budget": float(cell.kept),
        "load/offered_requests_s": cell.rate or 0.0,
        "load/requests_s": cell.requests_s.estimate,
        "load/output_tok_s": cell.output_tok_s.estimate,
        "load/computed_tok_s": cell.computed_tok_s.estimate,
        "load/hit_rate": cell.hit_rate,
        "load/kv_use_peak": cell.kv_use_peak,
        "load/preemptions": cell.preemptions,
        "load/failed": cell.failed,
        "load/goodput": cell.goodput.estimate,
    }
    tail = cell.latency.get(ALL)
    if tail is not None:
        found |= {
            "load/tail_quantile": tail.quantile,
            "load/ttft_p_ms": tail.ttft_ms.estimate,
            "load/itl_p_ms": tail.itl_ms.estimate,
            "load/e2e_p_ms": tail.e2e_ms.estimate,
        }
    return found


def load_params(load: LoadProfile) -> dict[str, str]:
    """What the metrics are of: which cell, on which hardware, with which flags."""
    cell, machine, flags = representative(load), load.hardware, load.flags
    card = machine.accelerator or "no accelerator"
    return {
        "load/cell": "none" if cell is None else WITHIN if cell.kept else OVER,
        "load/hardware": f"{machine.processor}, {machine.cores} cores, {card}",
        "load/flags": f"max-num-batched-tokens {flags.max_num_batched_tokens}, max-num-seqs {flags.max_num_seqs}, "
        f"long-prefill-token-threshold {flags.long_prefill_token_threshold}",
    }
