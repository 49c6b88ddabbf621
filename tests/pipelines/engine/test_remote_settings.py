"""What a profile may say of an endpoint that runs elsewhere: a bare address, a variable's name, kernels of variants."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pipelines.engine_modes import RemoteEngine
from tests.pipelines.engine.bench import Bench

URLS = {
    "credentials": "https://me:hunter22@host/",
    "a user": "https://hunter22@host",
    "a query": "https://host/?api-key=hunter22",
    "a fragment": "https://host/#hunter22",
    "another scheme": "ftp://hunter22",
    "no scheme": "hunter22:8000",
    "no host": "https:///hunter22",
    "a space": "https://host /hunter22",
    "no number for a port": "https://host:hunter22",
    "the API's own path": "https://hunter22/v1/",
}


@pytest.mark.parametrize("case", URLS)
def test_an_address_with_anything_but_a_place_is_refused_and_not_quoted(bench: Bench, case: str) -> None:
    bench.remote("https://host")
    settings = bench.settings()["engine"] | {"url": URLS[case]}
    with pytest.raises(ValidationError) as caught:
        RemoteEngine.model_validate(settings)
    assert all("hunter22" not in problem["msg"] for problem in caught.value.errors())


@pytest.mark.parametrize("url", ["https://host", "http://127.0.0.1:8000", "https://gateway.example:8443/llm/"])
def test_an_address_is_kept_without_its_last_slash(bench: Bench, url: str) -> None:
    bench.remote(url)
    assert RemoteEngine.model_validate(bench.settings()["engine"]).url == url.rstrip("/")


def test_the_variable_of_the_key_is_a_name_not_a_key(bench: Bench) -> None:
    bench.remote("https://host", api_key_env="sk-hunter22")
    with pytest.raises(ValidationError, match="api_key_env"):
        bench.params()


def test_a_kernel_of_an_unknown_variant_is_refused(bench: Bench) -> None:
    bench.remote("https://host")
    bench.engine["execution"]["kernels"] = {"int3": "X"}
    with pytest.raises(ValidationError, match=r"engine\.execution\.kernels: unknown variant 'int3'; allowed: bf16"):
        bench.params()
