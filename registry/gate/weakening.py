"""What of a policy asks less than another one did. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from registry.gate.policy import BaselineFloor, Gate, NewLosses, NonInferiority, Policy, Scene


def weaker(old: Policy, new: Policy) -> list[str]:
    """Every way in which `new` lets pass what `old` did not, each with its key; empty where it asks as much or more.

    A gate is matched with the old one of the same test, suite and verdict; where there are several, in their order.
    """
    found = []
    if new.max_unjudged_rate > old.max_unjudged_rate:
        found.append(f"max_unjudged_rate: {new.max_unjudged_rate:g} instead of {old.max_unjudged_rate:g}")
    if new.max_attempts > old.max_attempts:
        found.append(f"max_attempts: {new.max_attempts} instead of {old.max_attempts}")
    if new.allow_declared > old.allow_declared:
        found.append("allow_declared: true instead of false")
    if new.baseline != old.baseline:
        found.append(f"baseline: {new.baseline} instead of {old.baseline}")
    for name, scene in new.scenes.items():
        before = old.scenes.get(name)
        if before is not None:
            found += [f"scenes.{name}.{text}" for text in _scene(before, scene)]
    found += [f"scenes.{name}: is gone" for name in old.scenes if name not in new.scenes]
    return found


def _scene(old: Scene, new: Scene) -> Iterator[str]:
    if old.require not in ("none", new.require):
        yield f"require: {new.require} instead of {old.require}"
    left = list(new.gates)
    for gate in old.gates:
        match = next((other for other in left if _same_kind(gate, other)), None)
        if match is None:
            yield f"gates: no {gate.test} on {gate.suite} any more"
        else:
            left.remove(match)
            yield from (f"gates: {gate.test} on {gate.suite}: {text}" for text in _gate(gate, match))


def _same_kind(old: Gate, new: Gate) -> bool:
    same = (old.test, old.suite) == (new.test, new.suite)
    return same and getattr(old, "verdict", "") == getattr(new, "verdict", "")


def _gate(old: Gate, new: Gate) -> Iterator[str]:
    match old, new:
        case NonInferiority(), NonInferiority():
            yield from _higher("margin_pp", old.margin_pp, new.margin_pp)
            yield from _higher("alpha", old.alpha, new.alpha)
            yield from _lower("design_effect", old.design_effect, new.design_effect)
        case NewLosses(), NewLosses():
            yield from _higher("max_new_losses", old.max_new_losses, new.max_new_losses)
            yield from _lower("noise_alpha", old.noise_alpha, new.noise_alpha)
            if dropped := [family for family in old.families if family not in new.families]:
                yield f"families: without {', '.join(dropped)}"
        case BaselineFloor(), BaselineFloor():
            yield from _lower("min_accuracy", old.min_accuracy, new.min_accuracy)


def _higher(key: str, old: float, new: float) -> Iterator[str]:
    if new > old:
        yield f"{key} {new:g} instead of {old:g}"


def _lower(key: str, old: float, new: float) -> Iterator[str]:
    if new < old:
        yield f"{key} {new:g} instead of {old:g}"
