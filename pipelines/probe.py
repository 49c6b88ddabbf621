"""Record what a variant's own engine answers to the eight probe prompts, without a run of the suites.

Needs engine.mode launch or command. A profile with engine.mode remote holds its endpoint against these records
(engine.probes names their folder).
"""

from __future__ import annotations

import argparse

from evalsets.records import InputError, write_record
from pipelines.engine.prepare import prepare
from pipelines.engine.probes import PROBES
from pipelines.engine.served import served_folder
from pipelines.engine.session import record_probes
from pipelines.layout import Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage
from quantize.manifest import load_manifest


def probe(params: Params, run: str) -> None:
    """Write `probes/<weights digest>-<execution class>.json` below the run's folder, 12 digits of each."""
    if run not in params.runs:
        raise InputError(f"--run {run}: unknown; allowed: {', '.join(params.runs)}")
    layout = Layout.of(params.profile)
    variant = params.runs[run].variant
    manifest = load_manifest(layout.manifest(variant))
    served = served_folder(layout.checkpoint(variant), manifest, params.engine.device)
    made = record_probes(prepare(params, run, manifest, served))
    path = layout.root / PROBES / made.file_name
    write_record(path, made)
    print(f"{variant}: probes recorded: {path}")


def main() -> None:
    """Parse the command line and record."""
    parser = argparse.ArgumentParser(
        prog="python -m pipelines.probe", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True, help="a run of the active profile: a variant or baseline-again")
    given = parser.parse_args()
    run_stage(lambda: probe(load_params(), given.run))


if __name__ == "__main__":
    main()
