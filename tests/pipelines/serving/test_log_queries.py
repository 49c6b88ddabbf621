"""Averages of a log: tokens of system text, shared head, input and output."""

from __future__ import annotations

import pytest

from pipelines.serving import log_queries
from pipelines.serving.log_queries import Averages, PrefixTable
from pipelines.serving.prompt_tokens import PromptTokens
from pipelines.serving.request_log import LoggedRequest
from tests.pipelines.serving.serving_material import generated, make_request


def averages(tokens: PromptTokens, *requests: LoggedRequest, block_size: int = 4) -> dict[str, Averages]:
    with PrefixTable(tokens, block_size) as counted:
        for request in requests:
            counted.add(request)
        return {one.scene: one for one in counted.averages()}


def test_what_another_session_begins_with_too_is_shared(tokens: PromptTokens) -> None:
    # The tiny tokenizer: a byte is a token, <|im_start|> and <|im_end|> are one each.
    same, other = "x" * 1990 + "A" * 10, "x" * 1990 + "B" * 10
    head = len("<") + len("system\n") + 2000 + len(">") + len("\n") + len("<")
    found = averages(tokens, make_request(same, session="s1"), make_request(other, session="s2"))["all"]
    assert found.system_tokens == head
    assert found.shared_tokens == (1 + 7 + 1990) // 4 * 4
    assert (found.requests, found.sessions, found.long_shared_rate) == (2, 2, 1.0)
    whole = averages(tokens, make_request(same, session="s1"), make_request(same, session="s2"))["all"]
    assert whole.shared_tokens == head // 4 * 4


def test_a_session_shares_nothing_with_itself(tokens: PromptTokens) -> None:
    turns = [make_request("x" * 2000, turn=turn) for turn in (1, 2)]
    found = averages(tokens, *turns)["all"]
    assert (found.shared_tokens, found.long_shared_rate, found.later_turn_rate) == (0, 0, 0.5)


@pytest.mark.parametrize("batch", [7, 4096])
def test_averages_are_those_of_plain_counting(
    tokens: PromptTokens, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(log_queries, "BATCH", batch)
    rows = generated(300)
    found = averages(tokens, *rows, block_size=16)
    assert list(found) == ["all", "qa", "tools", "contract"]
    for scene, one in found.items():
        own = [row for row in rows if scene in ("all", row.scene)]
        prompts = [tokens.prompt(row) for row in own]
        assert one.requests == len(own) and one.sessions == len({row.session for row in own})
        assert one.input_tokens == pytest.approx(sum(tokens.count(prompt.text) for prompt in prompts) / len(own))
        assert one.system_tokens == pytest.approx(sum(tokens.count(prompt.head) for prompt in prompts) / len(own))
        assert one.output_tokens == pytest.approx(sum(row.output_tokens for row in own) / len(own))
        assert 0 < one.shared_tokens <= one.system_tokens


def test_an_empty_log_has_no_averages(tokens: PromptTokens) -> None:
    assert averages(tokens) == {}
