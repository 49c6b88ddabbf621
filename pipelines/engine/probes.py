"""Eight prompts whose chosen tokens and log-probabilities tell weights apart, asked of an engine in greedy decoding.

An engine that this project starts is known to have loaded a checkpoint; what it answers is kept per weights digest and
execution class. An endpoint that merely claims the digest must answer alike.

`TOLERANCE` rests on the answers of profile `local` (144 items, first eight tokens, asked sixteen at a time): the same
weights asked again kept the tokens of 143 and moved no log-probability by more than 0.0131; of FP8 weights 43 in 144
stayed within 0.05, of INT4 weights 6. Eight prompts of the latter kinds all staying within is a chance of 6 in 100,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from evalsets.records import InputError, Record, digest, read_record
from evalsets.responses import Response
from pipelines.engine.drive import Drive, ask_all
from pipelines.engine.plan import Request
from quantize.chat_template import ChatTemplate
from registry.evidence import ExecutionClass, Sha256

PROBES = "probes"  # the folder below a profile's run
TOLERANCE = 0.05
TOKENS = 8
PROMPTS = (
    "Which month comes after September, and how many days does it have?",
    "Add 417 and 286. Answer with the sum first.",
    "Name three things that a parcel's label must show.",
    "Write one polite sentence that tells a customer the invoice is overdue.",
    "九月之后是哪个月？这个月有多少天？",
    "请把 417 和 286 相加，先写出结果。",
    "快递面单上必须写明哪三项内容？",
    "请用一句礼貌的话告诉客户发票已经逾期。",
)
SAMPLING = {
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "seed": 0,
    "n": 1,
    "stream": False,
    "logprobs": True,
    "top_logprobs": 0,
    "return_token_ids": True,
    "skip_special_tokens": False,
    "ignore_eos": False,
    "min_tokens": 0,
}


class Probe(Record):
    """One prompt's answer: token ids and their log-probabilities (natural logarithm), of equal length, at least one."""

    prompt_sha256: Sha256
    token_ids: Annotated[list[int], Field(min_length=1)]
    logprobs: Annotated[list[float], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_each(self) -> Probe:
        if len(self.token_ids) != len(self.logprobs):
            raise ValueError("token_ids and logprobs differ in length; record the probes again")
        return self


class ProbeRecord(Record):
    """What an engine that had loaded these weights answered to `PROMPTS`, in their order."""

    weights_digest: Sha256
    execution: ExecutionClass
    probes: Annotated[list[Probe], Field(min_length=len(PROMPTS), max_length=len(PROMPTS))]

    @property
    def file_name(self) -> str:
        """One file per weights digest and execution class."""
        return f"{self.weights_digest[:12]}-{digest(self.execution)[:12]}.json"


def ask_probes(drive: Drive, template: ChatTemplate, name: str) -> list[Probe]:
    """The answers to `PROMPTS` of the model called `name`, asked one at a time so that none shares a batch.

    Raises `InputError` where one is not answered with token ids and log-probabilities, and `EngineGone` as `ask_all`.
    """
    found: dict[str, Response] = {}
    requests = [_request(number, prompt, template, name) for number, prompt in enumerate(PROMPTS)]
    ask_all(replace(drive, concurrency=1), requests, lambda response: found.update({response.item_id: response}))
    return [_probe(found[request.item_id], drive.url) for request in requests]


def differences(reference: ProbeRecord, probes: Sequence[Probe]) -> list[str]:
    """In what each answer differs from the reference by more than `TOLERANCE`; empty where they are of one engine."""
    pairs = enumerate(zip(reference.probes, probes, strict=True), 1)
    return [f"prompt {number}: {text}" for number, (old, new) in pairs if (text := _difference(old, new))]


def reference_for(folder: Path, weights_digest: str, execution: ExecutionClass) -> ProbeRecord:
    """The record of these weights on this execution class under `folder`.

    Raises `InputError` where there is none, and says which other classes there are.
    """
    found = [read_record(path, ProbeRecord) for path in sorted(folder.glob(f"{weights_digest[:12]}-*.json"))]
    records = [record for record in found if record.weights_digest == weights_digest]
    for record in records:
        if record.execution == execution:
            return record
    advice = (
        "record them on a machine of the declared class: python -m pipelines.probe --run <variant> under a profile "
        "with engine.mode launch, and name their folder in engine.probes"
    )
    if not records:
        raise InputError(f"{folder}: no probes of weights {weights_digest[:12]}; {advice}")
    others = "; ".join(_class_difference(record.execution, execution) for record in records)
    raise InputError(f"{folder}: the probes of weights {weights_digest[:12]} are of another class: {others}; {advice}")


def _class_difference(recorded: ExecutionClass, declared: ExecutionClass) -> str:
    names = [name for name in ExecutionClass.model_fields if getattr(recorded, name) != getattr(declared, name)]
    parts = [f"{name} {getattr(recorded, name)!r}, declared {getattr(declared, name)!r}" for name in names]
    return ", ".join(parts)


def _request(number: int, prompt: str, template: ChatTemplate, name: str) -> Request:
    messages = [{"role": "user", "content": prompt}]
    body = SAMPLING | {"model": name, "messages": messages, "max_tokens": TOKENS}
    return Request("qa", f"probe-{number}", 0, body, template.ids(messages, None), TOKENS)


def _probe(response: Response, url: str) -> Probe:
    logprobs = response.logprobs or []
    if response.status != "ok" or not logprobs or len(logprobs) != len(response.token_ids):
        why = response.error or f"{len(response.token_ids)} token ids and {len(logprobs)} log-probabilities"
        raise InputError(
            f"{url}: {response.item_id} was not answered as it must be ({why}); no item was asked; "
            "a gateway has to pass return_token_ids and logprobs through to vLLM, and their values back"
        )
    return Probe(prompt_sha256=response.prompt_sha256, token_ids=response.token_ids, logprobs=logprobs)


def _difference(old: Probe, new: Probe) -> str | None:
    if old.prompt_sha256 != new.prompt_sha256:
        return "recorded with another template or tokenizer"
    if old.token_ids != new.token_ids:
        return "other tokens"
    most = max(abs(a - b) for a, b in zip(old.logprobs, new.logprobs, strict=True))
    return f"a log-probability is {most:.3g} away" if most > TOLERANCE else None
