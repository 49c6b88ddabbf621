"""Fleets: queues, routing policies and what they cost; events."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsets.records import InputError
from pipelines.serving.blocks import block_hashes
from pipelines.serving.events import FROM_5_PERCENT, VERSION, Quota, Release, released, within_quota
from pipelines.serving.fleet_events import EventReplay
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.routing import BOUND, POLICIES, Policy, make_router
from pipelines.serving.routing_plot import routing_plot
from pipelines.serving.simulate import Fleet, Job, predict_hits, simulate
from pipelines.serving.summary import Summary, by_window, computed_tokens, summarise, token_hit_rate
from pipelines.serving.workload import make_jobs
from tests.pipelines.serving.serving_material import generated, make_request

FLEET = Fleet(replicas=3, blocks=200, block_size=4, max_num_seqs=8, prefill_tok_s=100.0, inter_token_s=0.1)


def make_job(ids: list[int], at_s: float = 0.0, scene: str = "qa", tenant: str = "t", output_tokens: int = 1) -> Job:
    return Job(at_s, tenant, scene, "s", 1, len(ids), output_tokens, block_hashes(ids, 4))


def one_replica(**other: int) -> Fleet:
    return replace(FLEET, replicas=1, **other)


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=30), min_size=1, max_size=20), st.integers(8, 40))
def test_far_apart_a_replica_finds_what_a_sequential_replay_predicts(prompts: list[list[int]], blocks: int) -> None:
    jobs = [make_job(ids, at_s=1000.0 * number) for number, ids in enumerate(prompts)]
    served = simulate(jobs, one_replica(blocks=blocks), make_router("random", 1))
    assert [one.hit_tokens for one in served] == predict_hits(prompts, 4, blocks)


def test_requests_wait_for_sequences_and_for_blocks_and_keep_their_order() -> None:
    jobs = [make_job(list(range(100 * n, 100 * n + 16)), at_s=0.01 * n, output_tokens=11) for n in range(3)]
    took_s = 16 / 100 + 11 * 0.1  # 26 tokens in 7 blocks
    by_sequences = simulate(jobs, one_replica(max_num_seqs=1), make_router("random", 1))
    by_blocks = simulate(jobs, one_replica(blocks=13), make_router("random", 1))
    for served in (by_sequences, by_blocks):
        assert [one.start_s for one in served] == pytest.approx([0, took_s, 2 * took_s])
    together = simulate(jobs, one_replica(), make_router("random", 1))
    assert [one.start_s for one in together] == [0, 0.01, 0.02]


def test_what_a_running_request_computes_is_a_hit_for_the_next() -> None:
    ids = list(range(13))
    served = simulate([make_job(ids), make_job(ids, at_s=0.001)], one_replica(), make_router("random", 1))
    assert [one.hit_tokens for one in served] == [0, 12]


def test_a_job_that_no_replica_can_hold_is_refused() -> None:
    with pytest.raises(InputError, match=r"session s turn 1: needs 8 blocks, a replica has 7"):
        simulate([make_job(list(range(32)))], one_replica(blocks=7), make_router("random", 1))


def test_a_consistent_hash_keeps_a_key_on_its_replica_and_moves_few_when_one_joins() -> None:
    jobs = [make_job([1], at_s=float(n), tenant=f"t{n % 60}") for n in range(240)]
    served = simulate(jobs, replace(FLEET, replicas=4), make_router("tenant-scene", 4), joins_s=[120])
    before, after = ({one.job.tenant: one.replica for one in part} for part in (served[:120], served[120:]))
    assert len({(one.job.tenant, one.replica) for one in served[:120]}) == 60
    moved = [tenant for tenant in before if before[tenant] != after[tenant]]
    assert {after[tenant] for tenant in moved} == {4}
    assert 0 < len(moved) < 30  # a fifth of 60 on average


def test_bounded_load_spreads_one_scene_over_replicas() -> None:
    jobs = [make_job([1, 2], at_s=0.001 * n, output_tokens=100) for n in range(24)]
    served = simulate(jobs, replace(FLEET, max_num_seqs=100), make_router("scene-bounded", 3))
    loads = Counter(one.replica for one in served)
    assert len(loads) == 3 and max(loads.values()) <= BOUND * 24 / 3 + 1
    unbounded = simulate(jobs, replace(FLEET, max_num_seqs=100), make_router("tenant-scene", 3))
    assert len({one.replica for one in unbounded}) == 1


def test_a_cache_aware_router_follows_the_cache() -> None:
    prompts = {tenant: [100 * tenant + n for n in range(17)] for tenant in range(3)}
    jobs = [make_job(prompts[n % 3], at_s=10.0 * n, tenant=f"t{n % 3}") for n in range(12)]
    served = simulate(jobs, FLEET, make_router("cache-aware", 3))
    assert [one.hit_tokens for one in served] == [0] * 3 + [16] * 9


@pytest.mark.parametrize("policy", POLICIES)
def test_every_job_is_served_once_and_the_same_again(policy: Policy) -> None:
    jobs = [make_job([n % 5, n % 3] * 10, at_s=0.05 * n, scene=f"s{n % 2}", tenant=f"t{n % 7}") for n in range(80)]
    first, second = (simulate(jobs, FLEET, make_router(policy, 3, seed=4)) for _ in range(2))
    assert first == second
    assert [one.job for one in first] == jobs


def test_a_summary_is_what_was_served() -> None:
    ids = list(range(17))
    jobs = [make_job(ids, tenant="big"), make_job(ids, at_s=5, tenant="big"), make_job([9] * 17, at_s=10)]
    jobs[1] = replace(jobs[1], turn=6)
    served = simulate(jobs, one_replica(), make_router("random", 1))
    summary = summarise(served, 1)
    assert (summary.token_hit_rate, summary.request_hit_rate) == (16 / 51, 1 / 3)
    assert summary.by_tenant == {"big": 16 / 34, "t": 0}
    assert summary.by_turn == {1: 0, 4: 16 / 17}
    assert (summary.computed_tok_s, summary.hot_spot) == (35 / 10, 1)
    assert {window: len(found) for window, found in by_window(served, 4, 1).items()} == {1: 1}


def test_answers_that_the_next_turn_repeats_are_found_in_the_cache(tokens: PromptTokens) -> None:
    said = "an answer of some length"
    first = make_request("be brief", "one", output_tokens=len(said) + 1)
    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": said}]
    messages = [{"role": "system", "content": "be brief"}, *turns, {"role": "user", "content": "two"}]
    second = make_request(messages=messages, turn=2, time="2026-03-05T09:05:00Z")
    served = simulate(make_jobs([second, first], tokens, 4), one_replica(), make_router("random", 1))
    assert [one.job.turn for one in served] == [1, 2]
    known = served[0].job.prompt_tokens + len(said)
    assert served[1].hit_tokens == known // 4 * 4
    with pytest.raises(InputError, match="no rows"):
        make_jobs([], tokens, 4)


def test_a_release_reaches_its_shares_and_no_session_goes_back() -> None:
    requests = generated(300, rate=1.0)
    at_once = released(requests, Release(100.0))
    versions = [(one.messages[0].content or "").startswith(VERSION) for one in at_once]
    times = [(one.time - requests[0].time).total_seconds() for one in requests]
    assert versions == [at_s >= 100 for at_s in times]
    steps = released(requests, Release(100.0, FROM_5_PERCENT, step_s=30))
    moved = [(one.messages[0].content or "").startswith(VERSION) for one in steps]
    shares = [
        sum(new for new, at_s in zip(moved, times, strict=True) if low <= at_s < low + 30)
        / sum(low <= at_s < low + 30 for at_s in times)
        for low in (70, 100, 130, 160, 190)
    ]
    assert shares[0] == 0 < shares[2] < shares[4] == 1
    for session in {one.session for one in steps}:
        own = [new for new, one in zip(moved, steps, strict=True) if one.session == session]
        assert own == sorted(own)


def test_a_quota_refuses_what_is_above_it_and_nobody_elses() -> None:
    requests = [
        make_request(tenant="big" if n % 2 else "small", time=f"2026-03-05T09:{n // 60:02}:{n % 60:02}Z")
        for n in range(600)
    ]
    kept, refused = within_quota(requests, Quota("big", rate=0.25, burst=5))
    counted = Counter(one.tenant for one in kept)
    assert counted["small"] == 300
    assert counted["big"] == pytest.approx(0.25 * 600 + 5, abs=2)
    assert refused == 300 - counted["big"]


def test_events_cost_tokens_and_a_short_log_is_refused(tokens: PromptTokens) -> None:
    requests = generated(700, rate=1.0)
    fleet = replace(FLEET, blocks=4000, block_size=16)
    rows = EventReplay(requests, tokens, fleet, "tenant-scene").rows()
    more = {row[0]: int(row[3].replace(",", "")) for row in rows}
    assert more["nothing"] == 0 < more["a prompt release, all sessions at once"]
    quotas = EventReplay(requests, tokens, fleet, "tenant-scene").quota_rows()
    assert quotas[0][3] == "0" and int(quotas[1][3]) > 0
    with pytest.raises(InputError, match="events need 240 s"):
        EventReplay(requests[:30], tokens, fleet, "random")


def test_routing_by_tenant_and_scene_beats_chance_and_the_plot_says_it(tokens: PromptTokens) -> None:
    jobs = make_jobs(generated(250, rate=0.5), tokens, 16)
    fleet = replace(FLEET, blocks=900, block_size=16)
    found: dict[str, Summary] = {name: summarise(simulate(jobs, fleet, make_router(name, 3)), 3) for name in POLICIES}
    assert found["random"].token_hit_rate + 0.05 < found["tenant-scene"].token_hit_rate
    assert found["random"].token_hit_rate + 0.05 < found["cache-aware"].token_hit_rate
    served = simulate(jobs, fleet, make_router("random", 3))
    assert computed_tokens(served) == round((1 - token_hit_rate(served)) * sum(job.prompt_tokens for job in jobs))
    drawn = ET.fromstring(routing_plot(found))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {text for text in drawn.itertext() if text.strip()}
    assert {*POLICIES, f"{found['random'].token_hit_rate:.3f}", f"{found['cache-aware'].hot_spot:.2f}"} <= texts
