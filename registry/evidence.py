"""The evidence chain between serving and decision: on what engine an answer was made, and what was compared."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from evalsets.items import Split, Suite
from evalsets.records import Record

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ExecutionClass(Record):
    """The numerics an answer was computed with. A verdict holds for this class and for no other.

    `device` is `cpu` or the GPU's name, `compute_capability` the CUDA one (`8.0`) or the CPU's best instruction set
    (`avx512_bf16`), `linear_kernel` the class the engine logged, `note` is empty or says how the weights were run
    (`w8a16-dequantized`: FP8 weights, served as bf16 for want of a kernel).
    """

    device: str
    compute_capability: str
    engine: str
    engine_version: str
    linear_kernel: str
    weight_bits: int
    activation_bits: int
    dtype: str
    note: str = ""


class SuiteDigest(Record):
    """Which items were asked: the suite file's SHA-256, count and SHA-256 of the ids taken in file order, split.

    `runs` is how often each item was asked.
    """

    file_sha256: Sha256
    items: int
    ids_sha256: Sha256
    split: Split
    runs: int = 1


class SharedSettings(Record):
    """What must be equal on both sides of a comparison, or there is none."""

    suites: dict[Suite, SuiteDigest]
    toolsets_sha256: Sha256
    template_sha256: Sha256
    prompts_sha256: Sha256
    sampling_sha256: Sha256
    engine: str
    engine_version: str
    device: str
    compute_capability: str
    dtype: str
    attention_backend: str
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    prefix_caching: bool


class Hardware(Record):
    """The machine of a measurement. Memory in bytes."""

    processor: str
    cores: int
    memory_bytes: int
    accelerator: str | None = None


class EngineRecord(Record):
    """How one run of the suites was served. `run` is the variant's name, or `baseline-again` for the noise floor.

    `weights_digest` is the checkpoint's, `served_digest` that of the folder the engine loaded (another one where the
    weights were dequantized for serving). `argv` and `environment` are allow-listed and masked. `responses` maps a
    suite to the SHA-256 of its response rows. `wall_s` is measured, per phase (`start`, `qa`, `tools`), in seconds.
    """

    profile: str
    run: str
    variant: str
    weights_digest: Sha256
    served_digest: Sha256
    served_name: str
    mode: Literal["launch", "command", "remote"]
    execution: ExecutionClass
    shared: SharedSettings
    tool_parser: str | None
    dialect: str
    order_seed: int
    generation_key: Sha256
    argv: list[str]
    environment: dict[str, str]
    kernel_lines: list[str]
    cache_config: dict[str, str]
    responses: dict[Suite, Sha256]
    hardware: Hardware
    wall_s: dict[str, float]


class Attempt(Record):
    """One line of the ledger of attempts: whose answers to which items were published, and what judged them then.

    `responses` maps a suite to the SHA-256 of its response rows, as in the engine record. `judge_sha256` is of the
    judge's source files, `policy_sha256` of the policy in force.
    """

    profile: str
    run: str
    variant: str
    weights_digest: Sha256
    generation_key: Sha256
    suites: dict[Suite, SuiteDigest]
    responses: dict[Suite, Sha256]
    judge_sha256: Sha256
    policy_sha256: Sha256


class PairedTable(Record):
    """The 2x2 table of one suite under one verdict: same items, baseline against candidate.

    `losses`: baseline right, candidate wrong; `gains`: the reverse. The four counts sum to `n`. They are whole where
    each item was asked once; with more runs losses and gains are those of `registry.gate.repeats`, and a gate divides
    all by the design effect that its policy declares.
    """

    n: int | float
    both_right: int | float
    losses: int | float
    gains: int | float
    both_wrong: int | float


class Transition(Record):
    """How many answers had label `baseline` before and `candidate` now (strict primary label, `ok` where right)."""

    baseline: str
    candidate: str
    count: int


class NewLoss(Record):
    """An item the baseline had right and the candidate has wrong (strict), with the candidate's primary label.

    With several runs: right and wrong in most of them, a `must_pass` item right in all and wrong in any; the label is
    the most frequent.
    """

    item_id: str
    label: str
    must_pass: bool


class SuiteComparison(Record):
    """One suite, item by item, each asked `runs` times. Items unjudged in any run count, as losses, in `pessimistic`.

    `identical` counts judged items whose raw texts are the same on both sides, the token counts are sums over all
    answers. `design_effect` (1 or more) is how much the clusters inflate the variance of the strict drop, measured
    (`registry.gate.clusters`). `longer` is the share of items with a longer answer, `shorter` with a shorter one.
    `must_pass` lists the ids so marked. Every list is in the suite's order, transitions by label.
    """

    suite: Suite
    runs: int = 1
    design_effect: float = 1.0
    strict: PairedTable
    tolerant: PairedTable
    pessimistic: PairedTable
    unjudged: list[str]
    identical: int
    baseline_tokens: int
    candidate_tokens: int
    longer: int = 0
    shorter: int = 0
    transitions: list[Transition]
    new_losses: list[NewLoss]
    gained: list[str]
    must_pass: list[str] = []


class Comparison(Record):
    """A candidate run against the baseline run, paired by item.

    `mismatches` names every shared setting that differs; where it is not empty nothing may be concluded. `inputs`
    maps each file this was made from (`verdicts/bf16/qa.jsonl`, `engine/bf16.json`) to its SHA-256.
    """

    baseline: str
    candidate: str
    suites: dict[Suite, SuiteComparison]
    mismatches: list[str]
    inputs: dict[str, Sha256]
