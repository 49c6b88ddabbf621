"""The lint of policies: quiet on the shipped profiles, names a weaker clause, content with a written reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.lint_policy import weakened
from pipelines.profiles import load_profile, render


def test_no_shipped_policy_is_weaker_than_its_evidence() -> None:
    assert weakened(Path("profiles"), Path("evidence")) == []


@pytest.mark.parametrize(
    ("reason", "found"),
    [
        ("", ["policy.scenes.qa.gates: noninferiority on qa: margin_pp 13 instead of 12; say why in policy."]),
        ("  weakened_because: the desk reads every answer first\n", []),
    ],
)
def test_a_weaker_policy_needs_a_reason(tmp_path: Path, reason: str, found: list[str]) -> None:
    profile = load_profile(Path("profiles/local.yaml"))
    published = tmp_path / "evidence" / "local" / "params.yaml"
    published.parent.mkdir(parents=True)
    published.write_text(render(profile, Path("profiles/local.yaml")))
    path = tmp_path / "profiles" / "local.yaml"
    path.parent.mkdir()
    text = Path("profiles/local.yaml").read_text().replace("margin_pp: 12.0", "margin_pp: 13.0")
    path.write_text(re.sub("  weakened_because:.*\n", reason or r"\g<0>", text))
    said = weakened(tmp_path / "profiles", tmp_path / "evidence")
    assert len(said) == len(found)
    for line, start in zip(said, found, strict=True):
        assert line.startswith(f"{path}: {start}")
