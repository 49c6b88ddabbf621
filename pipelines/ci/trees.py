"""What a pull request changes of the files that its own check rests on. Pure.

Trees are those of two commits as `git ls-tree -r -z` lists them, so that nothing in a working folder can hide a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

EVIDENCE = "evidence"
REGULAR = "100644"

# What the check rests on, and what each of it settles. The first prefix that fits a path names its part.
TRUSTED = {
    ".github/": "the workflow",
    "evalsets/data/": "the suites",
    "evalsets/": "what an item is",
    "judges/": "how an answer is judged",
    "registry/": "how verdicts become a decision",
    "profiles/": "the policies",
    "params.yaml": "the policies",
    "pipelines/": "the stages, the report and this check",
    "quantize/": "what is read of a checkpoint",
    "envs/": "the packages that recompute",
    "dvc.yaml": "what the lock proof compares",
    ".dvc": "what the lock proof compares",
    ".gitattributes": "the bytes of a checkout",
}


@dataclass(frozen=True)
class Entry:
    """A file of a commit: its mode (`100644`, `120000` for a symbolic link) and the hash of its content."""

    mode: str
    content: str


Tree = Mapping[str, Entry]


def parse_tree(listing: str) -> dict[str, Entry]:
    """Path -> entry, in git's order, of what `git ls-tree -r -z` printed."""
    found = {}
    for line in filter(None, listing.split("\0")):
        facts, _, path = line.partition("\t")
        mode, _, content = facts.split(" ")
        found[path] = Entry(mode, content)
    return found


def changed_trusted(base: Tree, head: Tree) -> dict[str, str]:
    """Path -> what it settles, by path, of everything under `TRUSTED` that is not the same on both sides."""
    differing = {path for path in base.keys() | head.keys() if base.get(path) != head.get(path)}
    return {path: part for path in sorted(differing) if (part := _part(path)) is not None}


def _part(path: str) -> str | None:
    return next((part for prefix, part in TRUSTED.items() if path.startswith(prefix)), None)


def published_profiles(tree: Tree) -> list[str]:
    """The folders directly below `evidence/`, by name."""
    steps = [path.split("/") for path in tree if path.startswith(f"{EVIDENCE}/")]
    return sorted({step[1] for step in steps if len(step) > 2})


def unusable_evidence(base: Tree, head: Tree) -> list[str]:
    """Why the evidence of `head` cannot be recomputed at all, one line each; empty if it can.

    Links would let a path stand for a file that the pull request does not bring. A profile that is only here has no
    policy that anyone but the author chose.
    """
    found = [
        f"{path}: mode {entry.mode}; evidence is plain files (mode {REGULAR}), commit the file itself"
        for path, entry in head.items()
        if (path == EVIDENCE or path.startswith(f"{EVIDENCE}/")) and entry.mode != REGULAR
    ]
    here, there = published_profiles(head), published_profiles(base)
    if not here:
        found.append(f"{EVIDENCE}/: no evidence; commit that of a run (make evidence)")
    found += [
        f"{EVIDENCE}/{profile}: gone, though the base branch has it; keep it, or have a person take it out"
        for profile in there
        if profile not in here
    ]
    found += [
        f"{EVIDENCE}/{profile}: the base branch has no profiles/{profile}.yaml; land the profile and its policy first"
        for profile in here
        if f"profiles/{profile}.yaml" not in base
    ]
    return found
