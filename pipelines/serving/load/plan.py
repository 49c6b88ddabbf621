"""Which passes of the traffic a load test makes, in order, and under which name each result is kept. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.engine_modes import LaunchEngine
from pipelines.serving.load.results import Offered
from pipelines.serving.load.settings import LoadSettings
from registry.load_profile import Flags

LONG_PREFILL = "--long-prefill-token-threshold"


@dataclass(frozen=True)
class Pass:
    """One repeat (from 0) of a cell."""

    offered: Offered
    repeat: int

    @property
    def name(self) -> str:
        """Of its result, within a set of flags: `open-0.5-cold-1`, `closed-8-cold-0`."""
        loop = f"open-{self.offered.rate:g}" if self.offered.rate is not None else f"closed-{self.offered.concurrency}"
        return f"{loop}-{self.offered.cache}-{self.repeat}"


def default_passes(settings: LoadSettings) -> list[Pass]:
    """With the profile's own flags: closed loops once each, then every rate, cold, and the middle one also warm.

    A warm pass comes after the cold one of the same requests, which leaves little of its cache to be filled first.
    """
    found = [Pass(Offered(concurrency=count), 0) for count in settings.concurrency]
    middle = settings.rates[len(settings.rates) // 2]
    rates = sorted({*settings.rates, *(settings.tuning.rates if settings.tuning else ())})
    for rate in rates:
        for repeat in range(settings.repeats):
            found.append(Pass(Offered(rate=rate), repeat))
            if rate == middle:
                found.append(Pass(Offered(rate=rate, cache="warm"), repeat))
    return found


def tuning_passes(settings: LoadSettings) -> list[Pass]:
    """With other flags: the rates of tuning, cold."""
    rates = settings.tuning.rates if settings.tuning else ()
    return [Pass(Offered(rate=rate), repeat) for rate in sorted(rates) for repeat in range(settings.repeats)]


def flags_name(flags: Flags) -> str:
    """A folder's name for a set of flags."""
    return f"{flags.max_num_batched_tokens}-{flags.max_num_seqs}-{flags.long_prefill_token_threshold}"


def default_flags(engine: LaunchEngine) -> Flags:
    """The batching flags that the profile serves with."""
    given = _threshold(engine.flags)
    return Flags(
        max_num_batched_tokens=engine.max_num_batched_tokens,
        max_num_seqs=engine.max_num_seqs,
        long_prefill_token_threshold=int(engine.flags[given + 1]) if given is not None else 0,
    )


def with_flags(engine: LaunchEngine, flags: Flags) -> LaunchEngine:
    """The profile's engine with these batching flags, and with the prefix cache on: it is part of the measurement."""
    kept, given = list(engine.flags), _threshold(engine.flags)
    if given is not None:
        del kept[given : given + 2]
    if flags.long_prefill_token_threshold:
        kept += [LONG_PREFILL, str(flags.long_prefill_token_threshold)]
    return engine.model_copy(
        update={
            "max_num_batched_tokens": flags.max_num_batched_tokens,
            "max_num_seqs": flags.max_num_seqs,
            "prefix_caching": True,
            "flags": kept,
        }
    )


def _threshold(flags: Sequence[str]) -> int | None:
    return flags.index(LONG_PREFILL) if LONG_PREFILL in flags[:-1] else None
