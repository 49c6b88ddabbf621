"""Finding out what a plan is calculated from. Nothing is started; a hub is asked only where that was wanted."""

from __future__ import annotations

import shutil
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from evalsets.items import CalibrationRow, Item, Suite
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, read_rows
from pipelines.attempts import read_attempts
from pipelines.engine.record import has_fp8_units
from pipelines.layout import Layout
from pipelines.params import PARAMS, FolderModel, HubModel
from pipelines.planning.attempts import suite_digest
from pipelines.planning.hub import HubFiles, ask_hub
from pipelines.planning.material import Machine, Material, Prompts, Weights
from pipelines.planning.prompts import LoadSource, load_requests, suite_prompts
from pipelines.planning.records import StageState
from pipelines.planning.stages import read_pipeline, read_status, rendered, states
from pipelines.profiles import Profile, load_profile
from pipelines.serving import capacity_inputs
from pipelines.serving.capacity import Request, Setting
from quantize.manifest import load_manifest
from quantize.recipe import Recipe, RecipeError, load_recipe


@dataclass(frozen=True)
class Options:
    """What a command line says: the profile's file, a config.json, a folder with tokenizer and template, a card's GiB.

    `hub`: ask the profile's hub for sizes. `here`: the run will be on this machine.
    """

    profile: Path
    config: Path | None = None
    checkpoint: Path | None = None
    card_gib: float | None = None
    hub: bool = False
    here: bool = False


def read_material(options: Options) -> Material:
    """Everything that a plan needs. Raises `InputError` or `RecipeError` naming what cannot be used."""
    profile = load_profile(options.profile)
    layout, warnings, refused = Layout.of(profile.profile), list[str](), list[str]()
    recipes = {name: load_recipe(Path(one.recipe))[0] for name, one in profile.variants.items()}
    hub = _hub(profile, warnings) if options.hub else None
    config = _config(profile, layout, options.config, hub)
    items: dict[Suite, Sequence[Item]] = {
        suite: load_suite(Path(one.path), suite, one.take) for suite, one in profile.suites.items()
    }
    active = _is_active(profile, warnings)
    return Material(
        profile=profile,
        active=active,
        stages=_stages(profile, active, warnings),
        served=capacity_inputs.served(profile, config),
        config=_shown(config),
        recipes=recipes,
        setting=_setting(options, profile),
        twins=_twins(profile, recipes),
        weights=_weights(profile, layout, hub),
        machine=_machine(layout),
        prompts=_prompts(profile, items, options.checkpoint or _tokenizer(profile, layout), refused),
        asked={suite: suite_digest(profile.suites[suite], found) for suite, found in items.items()},
        calibration_rows=_calibration_rows(Path(profile.calibration.file)),
        ledger=read_attempts(layout),
        here=options.here,
        warnings=warnings,
        refusals=refused,
    )


def _hub(profile: Profile, warnings: list[str]) -> HubFiles | None:
    if not isinstance(profile.model, HubModel):
        raise InputError(f"--hub: the model of profile {profile.profile} is not on a hub; leave the option out")
    try:
        return ask_hub(profile.model.repo, profile.model.revision)
    except InputError as error:
        warnings.append(f"{error}: sizes are calculated instead")
        return None


def _config(profile: Profile, layout: Layout, given: Path | None, hub: HubFiles | None) -> Path:
    """The config.json given, else the hub's, else that of the base here, of the model's folder, or the one shipped."""
    if given is not None:
        return given
    if hub is not None:
        return hub.config
    places = [layout.base / "config.json", capacity_inputs.DATA / f"{profile.model.name}.config.json"]
    if isinstance(profile.model, FolderModel):
        places.insert(1, Path(profile.model.path) / "config.json")
    if found := next((place for place in places if place.is_file()), None):
        return found
    raise InputError(
        f"{profile.model.name}: no config.json is at hand; give one (--config FILE) or ask the hub (--hub)"
    )


def _is_active(profile: Profile, warnings: list[str]) -> bool:
    try:
        active = load_profile(PARAMS)
    except InputError:
        return False
    if active.profile == profile.profile and active != profile:
        warnings.append(f"params.yaml is another rendering of this profile: make use PROFILE={profile.profile}")
    return active == profile


def _stages(profile: Profile, active: bool, warnings: list[str]) -> list[StageState]:
    stages = rendered(read_pipeline(), profile.model_dump(mode="json"))
    if not active:
        return states(stages, None)
    try:
        return states(stages, read_status())
    except InputError as error:
        warnings.append(str(error))
        return states(stages, None)


def _setting(options: Options, profile: Profile) -> Setting | None:
    if profile.engine.device != "cuda":
        return None
    # As the options of `pipelines.serving capacity`, all at their defaults. Its peak FLOP/s play no part here.
    flops = None if options.card_gib is None else 0.0
    given = Namespace(profile=options.profile, card=None, card_gib=options.card_gib, card_tflops=flops)
    defaults = {"tp": None, "utilisation": None, "kv_dtype": None, "activation_gib": 2.0, "graph_gib": 1.0}
    return capacity_inputs.setting(profile, Namespace(**vars(given), **defaults))


def _twins(profile: Profile, recipes: dict[str, Recipe]) -> list[str]:
    if profile.engine.device != "cpu" or has_fp8_units():
        return []
    return [name for name, recipe in recipes.items() if recipe.scheme.startswith("FP8")]


def _weights(profile: Profile, layout: Layout, hub: HubFiles | None) -> Weights:
    folder = Path(profile.model.path) if isinstance(profile.model, FolderModel) else layout.base
    sizes = [path.stat().st_size for path in folder.glob("*.safetensors")]
    if hub is not None:
        sizes = [size for name, size in hub.sizes.items() if name.endswith(".safetensors")]
    made = {}
    for name, one in profile.variants.items():
        if layout.manifest(name).is_file():
            with suppress(RecipeError):  # of another version of this project: it will be made anew
                manifest = load_manifest(layout.manifest(name))
                if manifest.recipe_sha256 == load_recipe(Path(one.recipe))[1]:
                    made[name] = manifest.weight_bytes
    return Weights(sum(sizes) or None, max(sizes, default=None), made)


def _machine(layout: Layout) -> Machine:
    folders = (layout.base, layout.root / "checkpoints")
    found = [path.stat() for folder in folders for path in folder.rglob("*") if path.is_file()]
    # Links to the same bytes count once.
    present = {(one.st_dev, one.st_ino): one.st_size for one in found}
    return Machine(
        free_bytes=shutil.disk_usage(".").free,
        present_bytes=sum(present.values()),
        memory_bytes=psutil.virtual_memory().available,
    )


def _prompts(
    profile: Profile, items: dict[Suite, Sequence[Item]], checkpoint: Path | None, refused: list[str]
) -> Prompts:
    toolsets = Path(profile.toolsets)
    load: list[Request] = []
    if profile.load is not None:
        try:
            source = LoadSource(profile.load, profile.suites, toolsets, profile.engine.max_model_len)
            load = load_requests(source, checkpoint)
        except InputError as error:
            refused.append(str(error))
    return Prompts(
        basis="assumed" if checkpoint is None else "calculated",
        suites=suite_prompts(items, load_toolsets(toolsets), checkpoint),
        load=load,
    )


def _tokenizer(profile: Profile, layout: Layout) -> Path | None:
    folder = Path(profile.model.path) if isinstance(profile.model, FolderModel) else layout.base
    return folder if (folder / "tokenizer.json").is_file() else None


def _calibration_rows(path: Path) -> int | None:
    return len(read_rows(path, CalibrationRow)) if path.is_file() else None


def _shown(path: Path) -> str:
    """A path as it is printed: from the repository's root where it lies there."""
    return (path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix()
