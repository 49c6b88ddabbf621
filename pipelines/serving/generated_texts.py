"""What generated requests say: system texts, questions and answers, cut from the suites. Pure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from evalsets.items import Domain, Item, Lang, Message, ToolItem
from evalsets.records import InputError
from judges.golds import gold_arguments

DOMAINS: dict[str, tuple[Domain, ...]] = {
    "qa": ("service", "knowledge"),
    "tools": ("tools",),
    "contract": ("contract",),
}
QUESTION = {"zh": "\n\n【问题】", "en": "\n\nQuestion:"}
STAMP = {"zh": "当前时间：{:%Y-%m-%d %H:%M}", "en": "Current time: {:%Y-%m-%d %H:%M}"}
TICKET = {"zh": "【工单】{}\n", "en": "[Ticket] {}\n"}
OWN = {"zh": "租户 {} 的补充规定：", "en": "Further rules of tenant {}:"}
# An English text of as many tokens has more characters.
LENGTH = {"zh": 1.0, "en": 2.4}


class SuiteTexts:
    """The suites' items as material. Raises `InputError` for a scene that they have nothing for."""

    def __init__(self, items: Sequence[Item], scenes: Sequence[str]) -> None:
        if unknown := sorted(set(scenes) - DOMAINS.keys()):
            raise InputError(
                f"scenes {', '.join(unknown)}: no items are known for them; there are {', '.join(DOMAINS)}"
            )
        self._items = {
            (scene, lang): [item for item in items if item.domain in DOMAINS[scene] and item.lang == lang]
            for scene in scenes
            for lang in ("zh", "en")
        }
        if empty := [f"{scene} ({lang})" for (scene, lang), found in self._items.items() if not found]:
            raise InputError(f"no items of {', '.join(empty)}; give the generator whole suites")
        self._documents = {lang: list(dict.fromkeys(_documents(items, lang))) for lang in ("zh", "en")}

    def items(self, scene: str, lang: Lang, cluster: str | None = None) -> list[Item]:
        """The items of a scene in a language, in suite order; of one cluster where it is named."""
        return [item for item in self._items[scene, lang] if cluster in (None, item.cluster)]

    def system(self, first: Item, tenant: int, handbook_chars: int, tenant_chars: int) -> str:
        """The system text of a session: the item's own, a handbook that all tenants share, and the tenant's rules."""
        lang, documents = first.lang, self._documents[first.lang]
        handbook = _text(documents, 0, round(handbook_chars * LENGTH[lang]))
        rules = _text(documents, 7 * tenant + 3, round(tenant_chars * LENGTH[lang]))
        return f"{first.messages[0].content}\n\n{handbook}\n\n{OWN[lang].format(f't{tenant:03}')}\n{rules}"

    def question(self, item: Item, ticket: int) -> list[Message]:
        """The item's turns after the system text, with a ticket's number of their own at the head."""
        first, *rest = item.messages[1:]
        return [first.model_copy(update={"content": TICKET[item.lang].format(ticket) + (first.content or "")}), *rest]

    def answer(self, item: Item, chars: int) -> str:
        """An answer to an item: its gold calls, or a passage of about `chars` characters. The same each time."""
        if isinstance(item, ToolItem) and item.calls:
            calls = [{"name": call.name, "arguments": gold_arguments(call)} for call in item.calls]
            return json.dumps(calls, ensure_ascii=False, default=str)
        chosen = random.Random(item.id)
        length = round(chars * LENGTH[item.lang] * chosen.uniform(0.4, 1.6))
        return _text(self._documents[item.lang], chosen.randrange(1000), length)


def _documents(items: Sequence[Item], lang: Lang) -> Iterator[str]:
    for item in items:
        text = item.messages[-1].content or ""
        if item.lang == lang and QUESTION[lang] in text:
            yield text.partition(QUESTION[lang])[0]


def _text(documents: Sequence[str], first: int, chars: int) -> str:
    """`chars` characters of the documents, from one of them on, around the end."""
    start = first % len(documents)
    found, length = [], 0
    for document in islice(cycle(documents), start, None):
        found.append(document)
        length += len(document) + 2
        if length >= chars:
            break
    return "\n\n".join(found)[:chars].rstrip()
