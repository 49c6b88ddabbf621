"""The order of magnitude of what each stage takes on the profile's cards. Pure.

Arithmetic on sizes and on rates that are assumed, below: no queue, no start-up, no second try. Read them as minutes or
hours, never as a promise.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.planning.material import Material
from pipelines.planning.records import Asked, Disk, LoadTest, Room, StageTime
from pipelines.serving.load.plan import default_passes, tuning_passes
from pipelines.serving.model_config import linear_parameters
from quantize.recipe import Recipe

LINK_BYTES_S = 1e9 / 8
DISK_BYTES_S = 1e9
SUSTAINED = 0.5  # of the card's peak, in prefill and in AWQ's search
MEMORY_BYTES_S = 2e12  # that a card reads its weights with; an A100 80G by its data sheet
AUTOAWQ_GRID = 20  # its own, not a setting
ASSUMED = (
    f"assumed: a link of {LINK_BYTES_S * 8 / 1e9:g} Gb/s, disks of {DISK_BYTES_S / 1e9:g} GB/s, {SUSTAINED:.0%} of the "
    f"peak, {MEMORY_BYTES_S / 1e12:g} TB/s of card memory; starts not counted"
)


def stage_times(
    material: Material, disk: Disk, rooms: Sequence[Room], asked: Sequence[Asked], load: Sequence[LoadTest]
) -> list[StageTime]:
    """Seconds per stage that takes any, in the order of the pipeline; none where the profile serves on no card, or on
    one whose peak is not known.

    Fetch: the base over the link. FP8: base and checkpoint over the disk. AWQ: two operations per weight, calibration
    token and point of the grid. Answers: prompts at the sustained rate, then every answer at its limit, as many at once
    as fit and are asked, each step reading the weights once. Load: the open loops last as long as their rates say;
    closed loops are left out.
    """
    if material.setting is None or not material.setting.card.peak_flops:
        return []
    found = [StageTime(stage="fetch", seconds=round(disk.base_bytes.value / LINK_BYTES_S))]
    for name, recipe in material.recipes.items():
        if recipe.backend != "passthrough":
            moved = disk.base_bytes.value + disk.checkpoint_bytes[name].value
            seconds = moved / DISK_BYTES_S + _search_s(material, recipe)
            found.append(StageTime(stage=f"quantize@{name}", seconds=round(seconds)))
    by_variant = {room.variant: room for room in rooms}
    for run, one in material.profile.runs.items():
        if (room := by_variant.get(one.variant)) is not None:
            seconds = sum(_answers_s(material, room, part) for part in asked if part.run == run)
            found.append(StageTime(stage=f"generate@{run}", seconds=round(seconds)))
    return found + [StageTime(stage=f"load@{one.variant}", seconds=round(_load_s(material, one))) for one in load]


def _flops_s(material: Material) -> float:
    setting = material.setting
    return SUSTAINED * setting.card.peak_flops * setting.tp if setting else 0.0


def _search_s(material: Material, recipe: Recipe) -> float:
    if recipe.awq is not None:
        points = recipe.awq.n_grid * (2 if recipe.awq.duo_scaling == "both" else 1)
    elif recipe.autoawq is not None:
        points = AUTOAWQ_GRID
    else:
        return 0.0
    tokens = material.profile.calibration.samples * material.profile.calibration.max_tokens
    # One card searches, whatever the engine is spread over.
    peak = material.setting.card.peak_flops if material.setting else 0.0
    return 2 * linear_parameters(material.served.config) * tokens * (1 + points) / (SUSTAINED * peak)


def _answers_s(material: Material, room: Room, part: Asked) -> float:
    setting, engine = material.setting, material.profile.engine
    if setting is None or not part.requests:
        return 0.0
    prefill = 2 * linear_parameters(material.served.config) * part.prompt_tokens.value / _flops_s(material)
    fits = next((count.value for kind, count in room.sequences.items() if kind.startswith(part.suite)), 1)
    at_once = max(1, min(fits, engine.concurrency, engine.max_num_seqs, part.requests))
    step = room.weight_bytes.value / setting.tp / MEMORY_BYTES_S
    return prefill + part.most_answer_tokens.value / at_once * step


def _load_s(material: Material, test: LoadTest) -> float:
    settings = material.profile.load
    if settings is None:
        return 0.0
    own = settings.of(test.variant)
    rates = [one.offered.rate for one in [*default_passes(own), *tuning_passes(own) * (len(test.flags) - 1)]]
    return sum(own.requests / rate for rate in rates if rate is not None)
