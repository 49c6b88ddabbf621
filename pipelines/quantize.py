"""Stage quantize: one variant's checkpoint and manifest."""

from __future__ import annotations

import argparse
from pathlib import Path

from evalsets.records import InputError
from pipelines.layout import WORK, Layout
from pipelines.params import Params, load_params
from pipelines.stage import run_stage
from quantize.publish import Order, publish
from quantize.sources import Source


def quantize(params: Params, variant: str) -> None:
    """Publish `runs/<profile>/checkpoints/<variant>`."""
    if variant not in params.variants:
        raise InputError(f"--variant {variant}: unknown; allowed: {', '.join(params.variants)}")
    layout = Layout.of(params.profile)
    source = Source.model_validate_json(layout.source.read_text("utf-8"))
    recipe = Path(params.variants[variant].recipe)
    order = Order(variant, recipe, layout.base, source, layout.calibration)
    manifest = publish(order, layout.checkpoint(variant), WORK / "quantize" / f"{params.profile}-{variant}")
    print(f"{variant}: {manifest.weight_bytes / 1e6:.0f} MB of weights in {manifest.wall_s:.0f} s")


def main() -> None:
    """Parse the command line and run the stage."""
    parser = argparse.ArgumentParser(prog="python -m pipelines.quantize", description=__doc__)
    parser.add_argument("--variant", required=True, help="a variant of the active profile")
    given = parser.parse_args()
    run_stage(lambda: quantize(load_params(), given.variant))


if __name__ == "__main__":
    main()
