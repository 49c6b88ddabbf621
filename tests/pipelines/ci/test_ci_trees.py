"""What a pull request changes of the files that its check rests on, and evidence that cannot be used."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.ci.trees import (
    TRUSTED,
    Entry,
    changed_trusted,
    parse_tree,
    published_profiles,
    unusable_evidence,
)

PLAIN = "100644"
LINK = "120000"


def tree(*paths: str, **changed: str) -> dict[str, Entry]:
    """Plain files, all of the same content but those of `changed` (`a__b` for `a/b`)."""
    named = {name.replace("__", "/"): content for name, content in changed.items()}
    return {path: Entry(PLAIN, "same") for path in paths} | {path: Entry(PLAIN, text) for path, text in named.items()}


BASE = tree("profiles/local.yaml", "evidence/local/decision.json", "judges/number rules.py", "README.md")


def test_a_listing_is_read_whole() -> None:
    listing = f"{PLAIN} blob ab12\tjudges/日本 a\tb\nc.py\0{LINK} blob cd34\tevidence/local\0"
    assert parse_tree(listing) == {
        "judges/日本 a\tb\nc.py": Entry(PLAIN, "ab12"),
        "evidence/local": Entry(LINK, "cd34"),
    }
    assert parse_tree("") == {}


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (".github/workflows/release-gate.yml", "the workflow"),
        ("evalsets/data/qa.jsonl", "the suites"),
        ("evalsets/items.py", "what an item is"),
        ("judges/verdicts.py", "how an answer is judged"),
        ("registry/gate/tango.py", "how verdicts become a decision"),
        ("profiles/a100.yaml", "the policies"),
        ("params.yaml", "the policies"),
        ("pipelines/ci/trees.py", "the stages, the report and this check"),
        ("envs/control.txt", "the packages that recompute"),
        ("dvc.yaml", "what the lock proof compares"),
        (".dvc/config", "what the lock proof compares"),
        (".dvcignore", "what the lock proof compares"),
        (".gitattributes", "the bytes of a checkout"),
        ("README.md", None),
        ("docs/judges/x.md", None),
        ("evidence/local/decision.json", None),
        ("dvc.lock", None),
    ],
)
def test_a_changed_path_is_named_with_what_it_settles(path: str, part: str | None) -> None:
    expected = {} if part is None else {path: part}
    before, after = BASE | {path: Entry(PLAIN, "old")}, BASE | {path: Entry(PLAIN, "new")}
    assert changed_trusted(before, after) == expected
    assert changed_trusted(BASE, BASE | {path: Entry(LINK, "same")}) == expected
    gone = {other: entry for other, entry in before.items() if other != path}
    assert changed_trusted(before, gone) == expected
    assert changed_trusted(gone, before) == expected


trees = st.dictionaries(
    st.sampled_from([*TRUSTED, "judges/a.py", "README.md", "evidence/local/x"]),
    st.builds(Entry, st.sampled_from([PLAIN, LINK]), st.sampled_from("ab")),
)


@settings(deadline=None)
@given(trees, trees)
def test_changes_are_seen_from_both_sides_alike(one: dict[str, Entry], other: dict[str, Entry]) -> None:
    changed = changed_trusted(one, other)
    assert changed == changed_trusted(other, one)
    assert list(changed) == sorted(changed)
    assert all(one.get(path) != other.get(path) for path in changed)
    assert changed_trusted(one, one) == {}


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (BASE, []),
        (BASE | tree("evidence/README.md"), []),
        (BASE | {"evidence/local/report.md": Entry(LINK, "x")}, ["evidence/local/report.md: mode 120000"]),
        (BASE | {"evidence/local/report.md": Entry("100755", "x")}, ["evidence/local/report.md: mode 100755"]),
        (
            {"profiles/local.yaml": Entry(PLAIN, "same"), "evidence": Entry(LINK, "x")},
            ["evidence: mode 120000", "evidence/: no evidence", "evidence/local: gone"],
        ),
        (BASE | tree("evidence/mine/decision.json"), ["evidence/mine: the base branch has no profiles/mine.yaml"]),
        (
            BASE | tree("evidence/mine/decision.json", "profiles/mine.yaml"),
            ["evidence/mine: the base branch has no profiles/mine.yaml"],
        ),
        (tree("README.md"), ["evidence/: no evidence", "evidence/local: gone"]),
    ],
)
def test_evidence_that_cannot_be_recomputed(head: dict[str, Entry], expected: list[str]) -> None:
    found = unusable_evidence(BASE, head)
    assert len(found) == len(expected)
    assert all(line.startswith(start) for line, start in zip(found, expected, strict=True))


def test_profiles_are_found_by_their_place() -> None:
    found = tree("evidence/b/attempts.jsonl", "evidence/a/x/y.json", "evidence/notes.md", "docs/evidence/c/d.json")
    assert published_profiles(found) == ["a", "b"]
