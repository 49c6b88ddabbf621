"""Stage load: one variant under the traffic of its scenes, its flags tuned, written as `serving/<variant>.json`.

Where the profile has no load test, or not for this variant, the file says so.
"""

from __future__ import annotations

import argparse

from evalsets.records import InputError, write_record
from pipelines.layout import Layout
from pipelines.serving.load.profile import measured_profile
from pipelines.serving.load.settings import LoadParams, load_params
from pipelines.serving.load.subject import subject_of
from pipelines.stage import run_stage
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
    subject, manifest = subject_of(params, params.load, variant)
    made = measured_profile(params, params.load.of(variant), subject, manifest)
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
