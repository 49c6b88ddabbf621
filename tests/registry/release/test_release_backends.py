"""Addresses of engines, and how sessions are split over them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evalsets.records import InputError
from registry.release.backends import Backends, Route, check_names, placeholders, split, urls_of
from registry.release.release import Release
from registry.release.release_of import release_of
from tests.registry.release.release_material import BACKENDS, Material

MATERIAL = Material()
RELEASES = {scene: release_of(scene, MATERIAL.promotion(), MATERIAL.bundle()) for scene in MATERIAL.serves}


def named(scene: str) -> Release:
    return RELEASES["qa"].model_copy(update={"scene": scene})


@given(st.integers(1, 9999), st.integers(1, 5), st.integers(1, 5))
def test_weights_give_the_share_whatever_the_number_of_engines(per_myriad: int, ours: int, others: int) -> None:
    backends = Backends(
        backends={
            "awq-int4": [f"http://10.0.0.{number}" for number in range(ours)],
            "bf16": [f"http://10.0.1.{number}" for number in range(others)],
        }
    )
    parts = split(Route(RELEASES["qa"], per_myriad / 10_000), backends)
    assert len(parts) == ours + others
    assert all(isinstance(part.weight, int) and part.weight > 0 for part in parts)
    weight = sum(part.weight for part in parts if part.served.variant == "awq-int4")
    assert Fraction(weight, sum(part.weight for part in parts)) == Fraction(per_myriad, 10_000)
    assert len({part.weight for part in parts if part.served.variant == "bf16"}) == 1


@pytest.mark.parametrize(("share", "variants"), [(1.0, {"awq-int4"}), (0.0, {"bf16"}), (0.5, {"awq-int4", "bf16"})])
def test_a_variant_without_sessions_is_left_out(share: float, variants: set[str]) -> None:
    assert {part.served.variant for part in split(Route(RELEASES["qa"], share), BACKENDS)} == variants


@pytest.mark.parametrize(
    ("scene", "share", "steady"),
    [("qa", 1.0, "awq-int4"), ("qa", 0.99, "bf16"), ("qa", 0.0, "bf16"), ("contract", 1.0, "bf16")],
)
def test_a_router_that_cannot_split_stays_with_the_fallback(scene: str, share: float, steady: str) -> None:
    assert Route(RELEASES[scene], share).steady.variant == steady


@pytest.mark.parametrize(
    ("scene", "share", "message"),
    [
        ("qa", -0.01, "is not from 0 to 1"),
        ("qa", 1.01, "is not from 0 to 1"),
        ("qa", float("nan"), "is not from 0 to 1"),
        ("contract", 0.5, "the baseline serves it and nothing else can"),
    ],
)
def test_a_share_that_cannot_be_is_refused(scene: str, share: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Route(RELEASES[scene], share)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000",
        "http://localhost:8000",
        "https://llm.example.com",
        "http://awq-int4.llm.svc.cluster.local:8000",
        "http://llm.example.com/awq",
        "http://awq-int4.invalid:8000",
    ],
)
def test_an_address_that_every_router_takes(url: str) -> None:
    assert Backends(backends={"fp8": [url]}).backends["fp8"] == [url]


@pytest.mark.parametrize(
    "url",
    [
        "http://vllm-awq:8000",
        "http://llm.example.com/v1",
        "http://llm.example.com/",
        "http://user:secret@llm.example.com",
        "http://a.example.com,http://b.example.com",
        "ftp://llm.example.com",
        "http://llm.example.com:8000\n",
        "http://llm.example.com/a b",
        "",
    ],
)
def test_an_address_that_some_router_skips_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="is no base URL of an engine"):
        Backends(backends={"fp8": [url]})


def test_one_address_is_one_engine() -> None:
    with pytest.raises(ValidationError, match="listed twice"):
        Backends(backends={"fp8": ["http://localhost:1"], "bf16": ["http://localhost:1"]})


def test_a_variant_without_an_engine_is_named() -> None:
    with pytest.raises(InputError, match="no engine serves awq-int4; listed are: bf16, fp8"):
        urls_of(RELEASES["qa"].served, Backends(backends={"fp8": ["http://a.b.cd"], "bf16": ["http://c.d.ef"]}))


def test_placeholders_are_addresses_that_never_resolve() -> None:
    assert placeholders(list(RELEASES.values())).backends == {
        "awq-int4": ["http://awq-int4.invalid:8000"],
        "bf16": ["http://bf16.invalid:8000"],
        "fp8": ["http://fp8.invalid:8000"],
    }


@pytest.mark.parametrize("scenes", [("qa", "qa-fallback"), ("qa-candidate", "qa"), ("qa", "qa")])
def test_two_groups_of_one_name_are_refused(scenes: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="would be the name of two groups"):
        check_names([Route(named(scene)) for scene in scenes])
