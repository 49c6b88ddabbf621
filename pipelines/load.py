"""Stage load: one variant under the traffic of its scenes, its flags tuned, written as `serving/<variant>.json`.

Where the profile has no load test, or not for this variant, the file says so.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evalsets.load import load_toolsets
from evalsets.records import InputError, write_record
from pipelines.engine.served import served_folder
from pipelines.engine.settings import served_name
from pipelines.layout import Layout
from pipelines.serving.load.measure import Subject
from pipelines.serving.load.profile import measured_profile
from pipelines.serving.load.settings import LoadParams, load_params
from pipelines.serving.load.trace import log_rows, make_trace
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.stage import run_stage
from quantize.manifest import load_manifest
from registry.load_profile import Serving


def load(params: LoadParams, variant: str) -> None:
    """Write `serving/<variant>.json` below the run's folder."""
    if variant not in params.variants:
        raise InputError(f"--variant {variant}: unknown; allowed: {', '.join(params.variants)}")
    layout = Layout.of(params.profile)
    if params.load is None or variant not in params.load.variants:
        named = "no load test" if params.load is None else f"a load test of {', '.join(params.load.variants)} only"
        write_record(layout.serving(variant), Serving(variant=variant, load=None, why=f"the profile has {named}"))
        print(f"{variant}: not measured under load: the profile has {named}")
        return
    manifest = load_manifest(layout.manifest(variant))
    served = served_folder(layout.checkpoint(variant), manifest, params.engine.device)
    toolsets = Path(params.toolsets)
    tokens = PromptTokens(served.folder, load_toolsets(toolsets))
    count = params.load.requests * params.load.repeats
    rows = log_rows(params.load, params.suites, toolsets, tokens)
    trace = make_trace(rows, tokens, count, params.engine.max_model_len)
    name = served_name(params.model.name, manifest.weights_digest)
    subject = Subject(params.engine, served, name, trace, params.load.requests)
    made = measured_profile(params, params.load, subject, manifest)
    write_record(layout.serving(variant), Serving(variant=variant, load=made))
    print(f"{variant}: measured under load: {layout.serving(variant)}")


def main() -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.load", description=__doc__)
    parser.add_argument("--variant", required=True, help="a variant of the active profile")
    given = parser.parse_args()
    run_stage(lambda: load(load_params(), given.variant))


if __name__ == "__main__":
    main()
