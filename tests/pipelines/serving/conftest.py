"""Fixtures of the serving tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.serving.prompt_tokens import PromptTokens
from tests.pipelines.engine.tiny_checkpoint import make_checkpoint
from tests.pipelines.serving.serving_material import TOOLSETS


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    make_checkpoint(folder)
    return folder


@pytest.fixture(scope="session")
def tokens(checkpoint: Path) -> PromptTokens:
    return PromptTokens(checkpoint, TOOLSETS)
