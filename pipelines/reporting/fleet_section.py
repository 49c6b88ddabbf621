"""The fleet as rows and sentences of plain text, and as a section of the Markdown report."""

from __future__ import annotations

from pipelines.reporting.cost_tables import cost_tables
from pipelines.reporting.fleet import Difference, Fleet, fleet
from pipelines.reporting.material import Material
from pipelines.reporting.text import inline, joined, table

ACCURACY_HEAD = ["scene", "traffic", "serves", "suite", "baseline", "chosen", "difference", "lower", "upper"]
MEMORY_HEAD = ["variant", "weights", "of the baseline's", "serves traffic"]
METHOD = (
    "Strictly right answers, weighted by the traffic that the policy declares: the chosen variants against the "
    "baseline for everything. Calculated from the measured counts, and reported only: no gate asks for it. Difference "
    "and bounds in percentage points, each bound one-sided 95 %: the scenes' paired Tango intervals, combined by the "
    "method of variance estimates recovery (Zou and Donner 2008)."
)
REMARK_LIMIT = 600
SELECTION = "The variants were chosen by these same answers; the interval does not correct for that choice."
NOTHING = "No fleet figure: the policy declares no traffic, or the suite of a scene was not judged at all."
NO_LOAD = "No load profile was measured (serving/ holds none), so nothing is said of throughput or unit cost."


def fleet_section(material: Material) -> str:
    """Traffic-weighted accuracy with its interval, weight memory, throughput and unit cost, as Markdown."""
    found = fleet(material.profile.policy, material.bundle)
    if found is None:
        return joined("## Fleet", NOTHING, _cost(material))
    accuracy = [[inline(scene), share, inline(chosen), *rest] for scene, share, chosen, *rest in accuracy_rows(found)]
    memory = [[inline(variant), *rest] for variant, *rest in memory_rows(found)]
    return joined(
        "## Fleet",
        METHOD,
        table(ACCURACY_HEAD, accuracy),
        "\n".join(f"- {inline(remark)}" for remark in accuracy_remarks(found)),
        table(MEMORY_HEAD, memory),
        "\n".join(f"- {inline(remark)}" for remark in memory_remarks(found, material)),
        _cost(material),
    )


def accuracy_rows(found: Fleet) -> list[list[str]]:
    """A row per scene and one for all traffic: what it serves and is measured on, both accuracies, the interval."""
    rows = [
        [
            scene.scene,
            _percent(scene.difference.weight),
            scene.chosen,
            scene.suite,
            _percent(scene.baseline_accuracy),
            _percent(scene.chosen_accuracy),
            *_points(scene.difference),
        ]
        for scene in found.scenes
    ]
    both = [_percent(found.baseline_accuracy), _percent(found.chosen_accuracy)]
    return [*rows, ["all traffic", _percent(found.difference.weight), "", "", *both, *_points(found.difference)]]


def memory_rows(found: Fleet) -> list[list[str]]:
    """A row per variant: its weight files, their share of the baseline's, and the traffic it is chosen for."""
    baseline = next(variant.weight_bytes for variant in found.variants if variant.name == found.baseline)
    return [
        [
            variant.name,
            f"{variant.weight_bytes / 1e6:,.1f} MB",
            _percent(variant.weight_bytes / baseline) if baseline else "",
            _percent(variant.share),
        ]
        for variant in found.variants
    ]


def accuracy_remarks(found: Fleet) -> list[str]:
    """What to keep in mind of the accuracy, a sentence or two each."""
    remarks = []
    for suite in dict.fromkeys(scene.suite for scene in found.scenes):
        sharing = [scene.scene for scene in found.scenes if scene.suite == suite]
        if len(sharing) > 1:
            remarks.append(
                f"{' and '.join(sharing)} are measured on the same items of {suite}, so they are not independent: "
                "their widths are added, the most that any correlation can make of them."
            )
    if abs(found.declared - 1) > 1e-9:
        remarks.append(f"The declared shares sum to {found.declared:g}; each was divided by that.")
    return [*remarks, SELECTION]


def memory_remarks(found: Fleet, material: Material) -> list[str]:
    """The fleet's saving, what it leaves out, and which variants were served in another form than their files'."""
    remarks = [
        f"Weight memory of the fleet against an all-{found.baseline} one: {_percent(found.saving)} less, if replicas "
        "follow the traffic. Calculated from the measured bytes of the safetensors; cache and activations not counted."
    ]
    chosen = [variant.name for variant in found.variants if variant.share]
    notes = {name: material.decision.executions[name].note for name in chosen}
    return remarks + [
        f"{name} was served as {note} here, where its weights take more memory than their files."
        for name, note in notes.items()
        if "dequantized" in note
    ]


def _cost(material: Material) -> str:
    parts = []
    for found in cost_tables(material):
        rows = [[inline(name), *numbers] for name, *numbers in found.rows]
        remarks = "\n".join(f"- {inline(remark, REMARK_LIMIT)}" for remark in found.remarks)
        parts += [f"{inline(found.caption)}:", table([inline(head) for head in found.head], rows), remarks]
    return joined(*parts) if parts else NO_LOAD


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _points(difference: Difference) -> list[str]:
    # Adding zero turns -0.0 into 0.0, which prints without a sign that means nothing.
    return [f"{round(100 * part, 2) + 0.0:.2f}" for part in (difference.estimate, difference.lower, difference.upper)]
