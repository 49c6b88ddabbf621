"""Stage calibrate: freeze the rows that quantization will see."""

from __future__ import annotations

from pathlib import Path

from evalsets.items import CalibrationRow
from evalsets.load import load_toolsets
from evalsets.records import read_rows
from pipelines.layout import Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage
from quantize.calibration import Conversation, freeze, write_rows
from quantize.chat_template import ChatTemplate


def calibrate(params: Params) -> None:
    """Write `runs/<profile>/calibration.jsonl` from the profile's conversations."""
    layout = Layout.of(params.profile)
    settings = params.calibration
    toolsets = load_toolsets(Path(params.toolsets))
    conversations = [
        Conversation(
            row.id,
            [message.model_dump(exclude_none=True) for message in row.messages],
            [tool.model_dump() for tool in toolsets[row.toolset].tools] if row.toolset else None,
        )
        for row in read_rows(Path(settings.file), CalibrationRow)
    ]
    rows = freeze(conversations, ChatTemplate(layout.base), settings.samples, settings.max_tokens, settings.seed)
    write_rows(rows, layout.calibration)


if __name__ == "__main__":
    run_stage(lambda: calibrate(load_params()))
