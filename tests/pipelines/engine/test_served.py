"""Which folder an engine loads: the checkpoint, or its weights dequantized once where no kernel fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalsets.records import InputError
from pipelines.engine import served
from pipelines.engine.served import DEQUANTIZED, served_folder
from quantize.manifest import Manifest, file_digests, weights_digest
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint

CONVERTER = '#!/bin/sh\necho "$@" >> converted\nmkdir -p "$4"\nprintf bf16 > "$4/model.safetensors"\n'
FAILING = "#!/bin/sh\necho 'Traceback (most recent call last):' >&2\necho 'ModuleNotFoundError: torch' >&2\nexit 1\n"


@pytest.fixture
def fp8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(served, "has_fp8_units", lambda: False)
    made = make_checkpoint(tmp_path / "checkpoint")
    return made.model_copy(update={"scheme": "FP8_DYNAMIC", "weight_bits": 8, "activation_bits": 8})


def install(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    path = Path("converter").absolute()
    path.write_text(script)
    path.chmod(0o755)
    monkeypatch.setattr(served, "CONVERTER", path)


def test_fp8_without_a_kernel_is_dequantized_once_and_said_to_be(
    fp8: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, CONVERTER)
    found = served_folder(Path("checkpoint"), fp8, "cpu")
    assert found.folder != Path("checkpoint")
    assert found.digest == weights_digest(file_digests(found.folder)) != fp8.weights_digest
    assert (found.bits, found.quantized, found.note) == ((8, 16), False, DEQUANTIZED)
    assert served_folder(Path("checkpoint"), fp8, "cpu") == found
    assert Path("converted").read_text().count("\n") == 1


def test_a_conversion_that_fails_is_said(fp8: Manifest, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FAILING)
    with pytest.raises(
        InputError, match=r"(?s)checkpoint: cannot be dequantized .*make setup.*ModuleNotFoundError: torch"
    ):
        served_folder(Path("checkpoint"), fp8, "cpu")


@pytest.mark.parametrize(
    ("scheme", "bits", "device", "units", "quantized"),
    [
        ("FP8_DYNAMIC", (8, 8), "cuda", False, True),
        ("FP8_DYNAMIC", (8, 8), "cpu", True, True),
        ("W4A16_ASYM", (4, 16), "cpu", False, True),
        ("BF16", (16, 16), "cpu", False, False),
    ],
)
def test_else_the_checkpoint_itself_is_served(
    fp8: Manifest,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    bits: tuple[int, int],
    device: str,
    units: bool,
    quantized: bool,
) -> None:
    monkeypatch.setattr(served, "has_fp8_units", lambda: units)
    manifest = fp8.model_copy(update={"scheme": scheme, "weight_bits": bits[0], "activation_bits": bits[1]})
    found = served_folder(Path("checkpoint"), manifest, device)
    assert (found.folder, found.digest, found.bits) == (Path("checkpoint"), fp8.weights_digest, bits)
    assert (found.quantized, found.note) == (quantized, "")
