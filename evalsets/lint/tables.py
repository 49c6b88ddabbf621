"""The make-up of suites as text, for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from evalsets.items import CalibrationRow, Item, Toolset
from evalsets.lint.declaration import count_facts
from evalsets.lint.folder import CALIBRATION, Folder


def folder_tables(folder: Folder) -> str:
    """A table for each suite of the folder, and a line for calibration and toolsets."""
    offered = folder.offered()
    parts = []
    for file, rows in folder.rows().items():
        if file == CALIBRATION:
            parts.append(_calibration(folder.calibration))
        else:
            parts.append(suite_table(file, [row for row in rows if isinstance(row, Item)], offered))
    sizes = [len(toolset.tools) for toolset in folder.toolsets]
    parts.append(f"toolsets.json: {len(sizes)} toolsets of {min(sizes)} to {max(sizes)} tools, {sum(sizes)} tools")
    return "\n".join(parts)


def suite_table(file: str, items: Sequence[Item], offered: Mapping[str, Toolset]) -> str:
    """Active items by domain, language, kind, must-pass, gold feature and tag, and the sizes of clusters."""
    active = [item for item in items if item.status == "active"]
    if not active:
        return f"{file}: no active item"
    sizes = Counter(item.cluster for item in active)
    retired = f", {len(items) - len(active)} retired" if len(items) > len(active) else ""
    least, most = min(sizes.values()), max(sizes.values())
    lines = [f"{file}: {len(active)} items{retired}, {len(sizes)} clusters of {least} to {most}"]
    for fact, counts in count_facts(active, offered).items():
        if counts:
            ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
            lines.append(f"  {fact}: " + ", ".join(f"{value} {count}" for value, count in ordered))
    return "\n".join(lines)


def _calibration(rows: Sequence[CalibrationRow]) -> str:
    langs = Counter(row.lang for row in rows)
    with_tools = sum(row.toolset is not None for row in rows)
    spread = ", ".join(f"{lang} {count}" for lang, count in sorted(langs.items()))
    return f"{CALIBRATION}: {len(rows)} rows ({spread}), {with_tools} with tools"
