"""From logged requests to the jobs of a simulation: token ids, block names, and the answers that later turns show."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from tqdm import tqdm

from evalsets.records import InputError
from pipelines.serving.blocks import block_hashes
from pipelines.serving.prompt_tokens import Ids, PromptTokens
from pipelines.serving.request_log import LoggedRequest
from pipelines.serving.simulate import Job

FOREIGN = 1 << 31  # above every vocabulary: ids of answers that no later turn repeats


def make_jobs(requests: Iterable[LoggedRequest], tokens: PromptTokens, block_size: int) -> list[Job]:
    """The jobs of a log by arrival, `at_s` from the first one on.

    A cache also holds answers. Their ids are those by which the session's next turn repeats them; where none does,
    they are foreign to every prompt. Raises `InputError` for a log without rows.
    """
    ordered = sorted(requests, key=lambda request: request.time)
    if not ordered:
        raise InputError("the log has no rows; nothing to simulate")
    jobs: list[Job] = []
    open_turns: dict[str, tuple[int, Ids]] = {}
    for number, request in enumerate(tqdm(ordered, desc="tokenising", disable=None)):
        ids = tokens.ids(tokens.prompt(request).text)
        if request.session in open_turns:
            before, earlier = open_turns[request.session]
            if ids[: len(earlier)] == earlier:
                jobs[before] = _answered(jobs[before], ids, block_size)
        jobs.append(_job(number, request, ids, ordered[0].time, block_size))
        open_turns[request.session] = (number, ids)
    return jobs


def _job(number: int, request: LoggedRequest, ids: Ids, first: datetime, block_size: int) -> Job:
    foreign = array("I", [FOREIGN + number]) * max(request.output_tokens - 1, 0)
    return Job(
        at_s=(request.time - first).total_seconds(),
        tenant=request.tenant,
        scene=request.scene,
        session=request.session,
        turn=request.turn,
        prompt_tokens=len(ids),
        output_tokens=request.output_tokens,
        names=array("Q", block_hashes(ids + foreign, block_size)),
    )


def _answered(job: Job, later: Ids, block_size: int) -> Job:
    computed = later[: job.prompt_tokens + max(job.output_tokens - 1, 0)]
    return replace(job, names=array("Q", block_hashes(computed, block_size)))
