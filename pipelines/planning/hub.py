"""What a hub says of a model without its weights: bytes of every file, and its config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsets.records import InputError
from pipelines.stage import go_online

# As `quantize.sources.base_from_hub` takes them.
TAKEN = (".safetensors", ".json", ".txt", ".jinja")
WAIT_S = 20


@dataclass(frozen=True)
class HubFiles:
    """Bytes per file that fetch would download, and where the config.json was put."""

    sizes: Mapping[str, int]
    config: Path


def ask_hub(repo: str, revision: str) -> HubFiles:
    """The files of a model at a commit, as the hub states them. Raises `InputError` where they cannot be had."""
    go_online()
    # Imported only now: the library reads whether it is offline when it is imported.
    from huggingface_hub import HfApi, hf_hub_download

    try:
        siblings = HfApi().model_info(repo, revision=revision, files_metadata=True, timeout=WAIT_S).siblings or []
        config = hf_hub_download(repo, "config.json", revision=revision)
    except Exception as error:
        # The library passes on whatever its HTTP client raises; to a plan all of it means the same.
        raise InputError(f"{repo}@{revision[:12]}: the hub was not reached ({type(error).__name__})") from None
    sizes = {one.rfilename: int(one.size or 0) for one in siblings if one.rfilename.endswith(TAKEN)}
    return HubFiles(sizes, Path(config))
