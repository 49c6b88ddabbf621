"""A model's config.json: what is read, and what cannot be used is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalsets.records import InputError
from pipelines.serving.model_config import (
    read_config,
)
from tests.pipelines.serving.capacity_material import BIG, DATA


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[]", "not a JSON object"),
        ("{", "not a JSON object"),
        ({"architectures": ["Qwen2MoeForCausalLM"]}, "architectures.0"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"torch_dtype": "float32"}, "dtype"),
        ({"tie_word_embeddings": None}, "tie_word_embeddings"),
    ],
)
def test_a_config_that_cannot_be_used_is_named(tmp_path: Path, text: str | dict[str, Any], named: str) -> None:
    path = tmp_path / "config.json"
    public = json.loads((DATA / "qwen2.5-32b-instruct.config.json").read_text("utf-8"))
    path.write_text(text if isinstance(text, str) else json.dumps(public | text), "utf-8")
    with pytest.raises(InputError, match=f"config.json: .*{re.escape(named)}.*dense decoders"):
        read_config(path)


def test_both_spellings_of_the_number_format_are_read(tmp_path: Path) -> None:
    public = json.loads((DATA / "qwen2.5-32b-instruct.config.json").read_text("utf-8"))
    dtype = public.pop("torch_dtype")
    (tmp_path / "config.json").write_text(json.dumps(public | {"dtype": dtype}), "utf-8")
    assert read_config(tmp_path / "config.json") == BIG
