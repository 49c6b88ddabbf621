"""The converted base carries no trace of the machine it was converted on."""

from __future__ import annotations

import json
from pathlib import Path

from quantize.gguf import drop_traces


def test_equal_tokenizers_have_equal_files_wherever_they_were_loaded(tmp_path: Path) -> None:
    kept = {"eos_token": "<|im_end|>", "tokenizer_class": "Qwen2Tokenizer"}
    texts = set()
    loaded: list[dict[str, object]] = [{"is_local": True, "local_files_only": False}, {"name_or_path": "somewhere"}, {}]
    for number, traces in enumerate(loaded):
        config = tmp_path / f"{number}.json"
        config.write_text(json.dumps(traces | kept))
        drop_traces(config)
        texts.add(config.read_text())
    assert len(texts) == 1
    assert json.loads(texts.pop()) == kept
