"""The policy: per scene, what a candidate must show before its weights may serve it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evalsets.items import Suite
from evalsets.records import InputError, Record

Family = Literal["numbers", "identifiers", "keys_and_enums", "json_syntax"]


class NonInferiority(Record):
    """The candidate's accuracy is less than `margin_pp` percentage points below the baseline's (Tango, paired).

    `design_effect` (1 or more) divides the counts where items of a cluster go wrong together; declare it before the
    run, from an earlier one.
    """

    test: Literal["noninferiority"]
    suite: Suite
    verdict: Literal["strict", "tolerant"] = "strict"
    margin_pp: Annotated[float, Field(gt=0, le=100)]
    alpha: Annotated[float, Field(gt=0, lt=0.5)] = 0.05
    design_effect: Annotated[float, Field(ge=1, le=10)] = 1.0


class NewLosses(Record):
    """At most `max_new_losses` items of `suite` newly lost to an error of one of `families`, beyond baseline-again's.

    Broken as well when the count is too many beside baseline-again's by the exact one-sided binomial at
    `noise_alpha` (0: the number alone decides).
    """

    test: Literal["new_losses"]
    suite: Suite
    families: Annotated[list[Family], Field(min_length=1)]
    max_new_losses: Annotated[int, Field(ge=0)]
    noise_alpha: Annotated[float, Field(ge=0, lt=0.5)] = 0.05


class BaselineFloor(Record):
    """The baseline itself is right on at least this share of `suite` (0 to 1); else nothing can be concluded."""

    test: Literal["baseline_floor"]
    suite: Suite
    verdict: Literal["strict", "tolerant"] = "strict"
    min_accuracy: Annotated[float, Field(ge=0, le=1)]


class MustPass(Record):
    """No item of `suite` marked `must_pass` is newly lost."""

    test: Literal["must_pass"]
    suite: Suite


Gate = Annotated[NonInferiority | NewLosses | BaselineFloor | MustPass, Field(discriminator="test")]


class Scene(Record):
    """One kind of traffic. `candidates` in order of cost, cheapest first; `require`: the variant CI insists on."""

    traffic_share: Annotated[float, Field(ge=0, le=1)]
    candidates: Annotated[list[str], Field(min_length=1)]
    require: str = "none"
    gates: Annotated[list[Gate], Field(min_length=1)]


class Policy(Record):
    """What decides. `max_unjudged_rate` is the share (0 to 1) of a suite's items that may stay unjudged.

    `max_attempts`: how many different sets of answers a candidate may give to a suite before a PASS counts for
    nothing. `allow_declared`: answers of an endpoint that runs elsewhere may promote, though its numerics are declared
    (where it is false it is left out, so that digests of policies without it stand). `weakened_because`: why the policy
    asks less than the one of the last published evidence.
    """

    baseline: str
    max_unjudged_rate: Annotated[float, Field(ge=0, lt=1)] = 0.005
    max_attempts: Annotated[int, Field(ge=1)] = 1
    allow_declared: Annotated[bool, Field(exclude_if=lambda allowed: not allowed)] = False
    weakened_because: str | None = None
    scenes: Annotated[dict[str, Scene], Field(min_length=1)]

    @model_validator(mode="after")
    def _require_is_a_candidate(self) -> Policy:
        for name, scene in self.scenes.items():
            allowed = [*scene.candidates, "none"]
            if scene.require not in allowed:
                raise ValueError(f"scenes.{name}.require: {scene.require!r} is none of {', '.join(allowed)}")
        return self


def check_policy(policy: Policy, variants: Collection[str], suites: Collection[Suite]) -> None:
    """Raise `InputError` naming the key where the policy speaks of a variant or a suite that there is not."""
    known = ", ".join(variants)
    if policy.baseline not in variants:
        raise InputError(f"policy.baseline: {policy.baseline!r} is no variant; allowed: {known}")
    for name, scene in policy.scenes.items():
        for candidate in scene.candidates:
            if candidate not in variants:
                raise InputError(f"policy.scenes.{name}.candidates: {candidate!r} is no variant; allowed: {known}")
        if len(set(scene.candidates)) < len(scene.candidates):
            raise InputError(f"policy.scenes.{name}.candidates: a candidate is named twice; name each once")
        for index, gate in enumerate(scene.gates):
            if gate.suite not in suites:
                raise InputError(
                    f"policy.scenes.{name}.gates.{index}.suite: {gate.suite!r} was not run; "
                    f"allowed: {', '.join(suites)}"
                )
