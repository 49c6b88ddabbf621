"""What a run will ask: every request with its rendered prompt, in the run's order, and the key of it all."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalsets.items import Item, Suite, ToolItem, Toolset
from evalsets.load import load_suite, load_toolsets
from evalsets.records import InputError, digest, file_sha256
from evalsets.responses import answer_id
from pipelines.engine_modes import Engine
from pipelines.params import Params
from quantize.chat_template import ChatTemplate
from registry.evidence import SuiteDigest


@dataclass(frozen=True)
class Request:
    """One item as it is sent in pass `run`. `prompt_ids` are the token ids that the engine must see."""

    suite: Suite
    item_id: str
    run: int
    body: dict[str, Any]
    prompt_ids: list[int]
    max_tokens: int

    @property
    def answer_id(self) -> str:
        """The name of its answer."""
        return answer_id(self.item_id, self.run)


@dataclass(frozen=True)
class Plan:
    """A run's requests by suite in the order they are asked, and the digests they make.

    `answer_ids` has the answers wanted: pass by pass, in file order.
    """

    requests: dict[Suite, list[Request]]
    answer_ids: dict[Suite, list[str]]
    suites: dict[Suite, SuiteDigest]
    toolsets_sha256: str
    template_sha256: str
    prompts_sha256: str
    sampling_sha256: str
    order_seed: int


def plan_run(params: Params, run: str, checkpoint: Path, model: str) -> Plan:
    """The requests of a profile's run, prompts rendered with `checkpoint`'s template, asked of `model`.

    Raises `InputError` naming the item whose prompt cannot be rendered or leaves no room for its answer.
    """
    template = ChatTemplate(checkpoint)
    toolsets = load_toolsets(Path(params.toolsets))
    order_seed = params.runs[run].order_seed
    requests: dict[Suite, list[Request]] = {}
    answer_ids: dict[Suite, list[str]] = {}
    suites: dict[Suite, SuiteDigest] = {}
    for suite, settings in params.suites.items():
        items: Sequence[Item] = load_suite(Path(settings.path), suite, settings.take)
        made = [_request(params, suite, item, toolsets, template, model) for item in items]
        passes = range(settings.runs)
        answer_ids[suite] = [answer_id(item.id, run) for run in passes for item in items]
        suites[suite] = SuiteDigest(
            file_sha256=file_sha256(Path(settings.path)),
            items=len(items),
            ids_sha256=digest([item.id for item in items]),
            split=items[0].split,
            runs=settings.runs,
        )
        requests[suite] = [request for run in passes for request in _ordered(made, order_seed, run)]
    prompts = {request.item_id: request.prompt_ids for made in requests.values() for request in made}
    return Plan(
        requests=requests,
        answer_ids=answer_ids,
        suites=suites,
        toolsets_sha256=file_sha256(Path(params.toolsets)),
        template_sha256=template.sha256,
        prompts_sha256=digest(prompts),
        sampling_sha256=digest(params.sampling),
        order_seed=order_seed,
    )


def generation_key(
    plan: Plan, run: str, weights_digest: str, argv: Sequence[str], environment: Mapping[str, str], engine_version: str
) -> str:
    """SHA-256 of everything that shapes the answers; answers are only ever reused under the same key.

    How many passes are asked is not part of it: another pass adds answers and changes none.
    """
    return digest(
        {
            "run": run,
            "weights": weights_digest,
            "prompts": plan.prompts_sha256,
            "toolsets": plan.toolsets_sha256,
            "sampling": plan.sampling_sha256,
            "argv": list(argv),
            "environment": dict(environment),
            "engine_version": engine_version,
            "order_seed": plan.order_seed,
        }
    )


def _request(
    params: Params, suite: Suite, item: Item, toolsets: dict[str, Toolset], template: ChatTemplate, model: str
) -> Request:
    messages = [message.model_dump(exclude_none=True) for message in item.messages]
    tools = _tools(item, toolsets)
    max_tokens = params.sampling.max_tokens[suite]
    try:
        prompt_ids = template.ids(messages, tools)
    except ValueError as error:
        raise InputError(f"{item.id}: no prompt can be made of its messages ({error}); correct the item") from None
    if len(prompt_ids) + max_tokens > params.engine.max_model_len:
        raise InputError(
            f"{item.id}: {len(prompt_ids)} prompt tokens leave no room for {max_tokens} more in "
            f"engine.max_model_len {params.engine.max_model_len}; shorten the item or raise it"
        )
    body = _sampling_fields(params) | {"model": model, "messages": messages, "max_tokens": max_tokens}
    if tools is not None:
        body |= {"tools": tools, "tool_choice": _tool_choice(params.engine)}
    return Request(suite, item.id, 0, body, prompt_ids, max_tokens)


def _ordered(made: Sequence[Request], order_seed: int, run: int) -> list[Request]:
    """One pass over the suite, each in an order and with a sampling seed of its own."""
    # Seeds of passes lie far apart, so that no pass of one run repeats the order of a pass of another.
    shuffled = random.Random(order_seed + 1000 * run).sample(made, len(made))
    return [replace(request, run=run, body=request.body | {"seed": request.body["seed"] + run}) for request in shuffled]


def _tools(item: Item, toolsets: dict[str, Toolset]) -> list[dict[str, Any]] | None:
    if not isinstance(item, ToolItem):
        return None
    if item.toolset not in toolsets:
        raise InputError(f"{item.id}: no toolset {item.toolset!r}; there are: {', '.join(sorted(toolsets))}")
    return [tool.model_dump() for tool in toolsets[item.toolset].tools]


def _tool_choice(engine: Engine) -> str:
    # "none" still shows the tools to the model, and leaves the text as it was written.
    return "auto" if engine.tool_parser else "none"


def _sampling_fields(params: Params) -> dict[str, Any]:
    fixed = {"n": 1, "stream": False, "logprobs": True, "top_logprobs": 0}
    engine_only = {"return_token_ids": True, "skip_special_tokens": False, "ignore_eos": False, "min_tokens": 0}
    return params.sampling.model_dump(exclude={"max_tokens"}) | fixed | engine_only
