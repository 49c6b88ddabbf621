"""Where the engines answer, and how a scene's sessions are split over them. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from evalsets.records import InputError, Record
from registry.release.release import Release, Served, VariantName

# What production-stack's router accepts; it skips any other address with a warning and mixes up what follows.
URL = re.compile(
    r"https?://(?:(?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,}|localhost|\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?(?:/[\w.~/-]*[\w.~-])?",
    re.ASCII,
)
PLACEHOLDER = "http://{variant}.invalid:8000"
FALLBACK = "-fallback"
CANDIDATE = "-candidate"


class Backends(Record):
    """The engines that are running: variant -> base URLs, without the `/v1` at the end."""

    backends: Annotated[dict[VariantName, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]

    @field_validator("backends")
    @classmethod
    def _addresses(cls, backends: dict[str, list[str]]) -> dict[str, list[str]]:
        for variant, urls in backends.items():
            for url in urls:
                if not URL.fullmatch(url) or url.endswith("/v1"):
                    raise ValueError(
                        f"{variant}: {url!r} is no base URL of an engine; write http://host:port, the host with a dot "
                        "in it (name.namespace.svc.cluster.local), localhost or an IPv4 address; no user, no /v1"
                    )
        return backends

    @model_validator(mode="after")
    def _one_engine_each(self) -> Backends:
        urls = [url for listed in self.backends.values() for url in listed]
        twice = sorted({url for url in urls if urls.count(url) > 1})
        if twice:
            raise ValueError(f"{', '.join(twice)} listed twice; an address is one engine with one variant")
        return self


@dataclass(frozen=True)
class Route:
    """A scene's release, and the share of its sessions (0 to 1) that the released variant gets; the fallback the rest.

    Raises `InputError` where the share is not from 0 to 1, or leaves sessions to a fallback that there is not.
    """

    release: Release
    share: float = 1.0

    def __post_init__(self) -> None:
        scene = self.release.scene
        if not 0 <= self.share <= 1:
            raise InputError(f"{scene}: share {self.share!r} is not from 0 to 1; give the released variant's share")
        if self.share < 1 and self.release.fallback is None:
            raise InputError(f"{scene}: share {self.share!r}, but the baseline serves it and nothing else can; give 1")

    @property
    def steady(self) -> Served:
        """What a router that cannot split sends the whole scene to: the fallback until the release has all sessions."""
        fallback = self.release.fallback
        return self.release.served if fallback is None or self.share == 1 else fallback


@dataclass(frozen=True)
class Deployment:
    """One engine in a scene's group: what it serves, where, and its weight, a whole number above 0."""

    served: Served
    url: str
    weight: int


def placeholders(releases: Sequence[Release]) -> Backends:
    """One address per variant that must be replaced: the domain `.invalid` never resolves."""
    variants = [served.variant for release in releases for served in release.all_served]
    return Backends(backends={name: [PLACEHOLDER.format(variant=name)] for name in variants})


def urls_of(served: Served, backends: Backends) -> list[str]:
    """The engines of a variant. Raises `InputError` where none is listed."""
    urls = backends.backends.get(served.variant)
    if not urls:
        known = ", ".join(sorted(backends.backends))
        raise InputError(f"backends: no engine serves {served.variant}; listed are: {known}; add its URL")
    return urls


def split(route: Route, backends: Backends) -> list[Deployment]:
    """The scene's engines with weights in the route's proportions, however many engines each variant has.

    A variant without sessions is left out: a router that loses the others would fall on it.
    """
    share = Fraction(str(route.share))
    parts: list[tuple[Served, Fraction]] = [(route.release.served, share)]
    if route.release.fallback is not None:
        parts.append((route.release.fallback, 1 - share))
    each = [
        (served, url, part / len(urls))
        for served, part in parts
        if part > 0
        for urls in [urls_of(served, backends)]
        for url in urls
    ]
    whole = math.lcm(*(part.denominator for _, _, part in each))
    weights = [int(part * whole) for _, _, part in each]
    least = math.gcd(*weights)
    return [Deployment(served, url, weight // least) for (served, url, _), weight in zip(each, weights, strict=True)]


def check_names(routes: Sequence[Route]) -> None:
    """Raise `InputError` where a scene's name is another's group (`qa-fallback`), or is given twice."""
    names = [name for route in routes for name in group_names(route.release.scene)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"release: {', '.join(twice)} would be the name of two groups; rename a scene in the policy")


def group_names(scene: str) -> tuple[str, str, str]:
    """A scene's names in a router: the scene, what steps in, and what is on trial."""
    return scene, scene + FALLBACK, scene + CANDIDATE


def served_once(routes: Sequence[Route]) -> Mapping[str, Served]:
    """Every variant of the routes by served name, in the order they come."""
    return {served.served_name: served for route in routes for served in route.release.all_served}
