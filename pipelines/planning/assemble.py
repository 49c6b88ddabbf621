"""From what was found to the whole plan. Pure but for the check of flags, which is handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pipelines.engine_modes import Engine
from pipelines.planning.attempts import attempt_numbers
from pipelines.planning.engine_flags import command_lines
from pipelines.planning.gates import gate_checks
from pipelines.planning.material import Material
from pipelines.planning.memory import rooms, steps
from pipelines.planning.records import Amount, Disk, FlagsCheck, Model, Plan
from pipelines.planning.refusals import machine_problems, refusals, warnings
from pipelines.planning.sizes import base_bytes, checkpoint_bytes, disk
from pipelines.planning.times import stage_times
from pipelines.planning.traffic import asked, lengths, load_tests, shown_lengths
from pipelines.serving.model_config import linear_parameters, parameters

HOLDERS = {"cpu": "host memory", "remote": "an endpoint elsewhere"}
Check = Callable[[Engine, Mapping[str, Sequence[str]]], FlagsCheck]


def make_plan(material: Material, check: Check) -> Plan:
    """The plan of a profile. `check` says what the engine's parser makes of command lines, by name."""
    profile, setting = material.profile, material.setting
    kinds = lengths(material)
    served_rooms, shown = rooms(material, kinds), shown_lengths(material, kinds)
    written = _disk(material)
    memory = steps(material, written.base_bytes)
    requests, load = asked(material), load_tests(material, served_rooms)
    flags = check(profile.engine, command_lines(profile, load))
    gates = gate_checks(profile.policy, {suite: len(tokens) for suite, tokens in material.prompts.suites.items()})
    current = {stage.name for stage in material.stages if stage.state == "current"}
    answered = [run for run in profile.runs if f"generate@{run}" in current]
    attempts = attempt_numbers(profile.policy, material.ledger, material.asked, answered)
    refused = refusals(material, served_rooms, shown, gates, flags, attempts)
    noticed = warnings(material, served_rooms, shown, flags)
    (refused if material.here else noticed).extend(machine_problems(material, written, memory))
    return Plan(
        profile=profile.profile,
        active=material.active,
        stages=list(material.stages),
        model=_model(material),
        disk=written,
        memory=memory,
        card=setting.card.name if setting else HOLDERS[profile.engine.device],
        tensor_parallel=setting.tp if setting else 1,
        rooms=served_rooms,
        lengths=shown,
        asked=requests,
        load=load,
        times=stage_times(material, written, served_rooms, requests, load),
        gates=gates,
        flags=flags,
        attempts=attempts,
        warnings=noticed,
        refusals=refused,
        exit_code=3 if refused else 0,
    )


def _disk(material: Material) -> Disk:
    config, weights, machine = material.served.config, material.weights, material.machine
    base = base_bytes(config, weights.base_bytes)
    made = checkpoint_bytes(config, material.served.formats, base, weights.checkpoints)
    return disk(base, made, material.recipes, material.twins, machine.present_bytes, machine.free_bytes)


def _model(material: Material) -> Model:
    model, config = material.profile.model, material.served.config
    return Model(
        name=model.name,
        repo=model.repo,
        revision=model.revision,
        config=material.config,
        parameters=Amount(value=parameters(config), basis="calculated"),
        linear_parameters=Amount(value=linear_parameters(config), basis="calculated"),
    )
