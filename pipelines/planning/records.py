"""The plan of a run as one strict record, printed by `python -m pipelines.plan --json`.

An `Amount` says where it comes from; bytes end in `_bytes`, tokens in `_tokens`. Bare integers are counts of what the
profile asks for.
"""

from __future__ import annotations

from typing import Literal

from evalsets.items import Suite
from evalsets.records import Record
from pipelines.serving.cost import Basis
from registry.load_profile import Flags

State = Literal["current", "stale", "follows", "unknown"]


class Amount(Record):
    """A number of bytes or tokens, and its basis."""

    value: int
    basis: Basis


class StageState(Record):
    """A stage under its DVC name.

    `stale`: its own inputs or outputs changed, which `why` names in DVC's words; `follows`: only a stage before it is.
    """

    name: str
    state: State
    why: list[str] = []


class Model(Record):
    """The model that is planned for. `config` says which config.json settled the shapes."""

    name: str
    repo: str
    revision: str
    config: str
    parameters: Amount
    linear_parameters: Amount


class Disk(Record):
    """Bytes on the disk that holds `runs/`.

    `checkpoint_bytes` are per variant, all of it; what a 16-bit variant shares with the base by hard links is in
    `wanted_bytes` once. That is the most that is taken at any time, staging included, from nothing to the last stage;
    `kept_bytes` stay. `present_bytes` are there already, `free_bytes` are free now.
    """

    base_bytes: Amount
    checkpoint_bytes: dict[str, Amount]
    twin_bytes: Amount | None
    wanted_bytes: Amount
    kept_bytes: Amount
    present_bytes: Amount
    free_bytes: Amount


class StepMemory(Record):
    """What one step holds in memory at once: on the host, and on each accelerator; None where it is not the limit.

    `cache_bytes`: what AWQ keeps of one tensor that it searches scales for. `note` says how the step uses memory.
    """

    step: str
    host_bytes: Amount | None = None
    card_bytes: Amount | None = None
    cache_bytes: Amount | None = None
    note: str


class Room(Record):
    """One variant as it is served: bytes per card, or of host memory where `device` is a CPU.

    `sequences` counts requests that are held complete at once, by the kind of request that `Plan.lengths` names.
    """

    variant: str
    weight_bytes: Amount
    kv_room_bytes: Amount
    kv_bytes_per_token: Amount
    kv_tokens: Amount
    sequences: dict[str, Amount]


class RequestLength(Record):
    """One kind of request whose sequences are counted: tokens of the prompt, and of the answer at most."""

    kind: str
    prompt_tokens: Amount
    answer_tokens: Amount


class Asked(Record):
    """One suite in one run: requests, prompt tokens of all of them, and the most tokens that the answers may take."""

    run: str
    variant: str
    suite: Suite
    requests: int
    prompt_tokens: Amount
    most_answer_tokens: Amount


class LoadTest(Record):
    """One variant's load test: every pass of each set of flags, the default first, warm-up and filling included.

    `left_out` names flags that tuning will not try, and why. Tokens are those of the traffic's mean request.
    """

    variant: str
    flags: list[Flags]
    left_out: dict[str, str]
    passes: int
    requests: int
    prompt_tokens: Amount
    answer_tokens: Amount


class StageTime(Record):
    """Seconds that a stage takes, calculated: an order of magnitude (`pipelines.planning.times`)."""

    stage: str
    seconds: int


class GateCheck(Record):
    """One non-inferiority gate: can it be decided with this many items? `why` has its power and what would help."""

    key: str
    items: int
    decidable: bool
    why: str


class FlagsCheck(Record):
    """What the engine's own parser said of `checked` command lines. `problems` maps a command line to its complaint.

    `engine` is the distribution that was asked, empty where none was; `why` then says why not.
    """

    engine: str
    checked: int
    problems: dict[str, str]
    why: str = ""


class AttemptNumber(Record):
    """The number that the next answers of a run to a suite would have, and how many the policy declares."""

    run: str
    suite: Suite
    number: int
    declared: int


class Plan(Record):
    """A profile's plan. `active`: params.yaml holds exactly this profile. `exit_code` is 3 where there are refusals."""

    profile: str
    active: bool
    stages: list[StageState]
    model: Model
    disk: Disk
    memory: list[StepMemory]
    card: str
    tensor_parallel: int
    rooms: list[Room]
    lengths: list[RequestLength]
    asked: list[Asked]
    load: list[LoadTest]
    times: list[StageTime] = []
    gates: list[GateCheck]
    flags: FlagsCheck
    attempts: list[AttemptNumber]
    warnings: list[str]
    refusals: list[str]
    exit_code: Literal[0, 3]
