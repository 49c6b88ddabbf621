"""The HTML report as a parser sees it, for the report's tests."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "input"}
RAW = {"script", "style"}


@dataclass
class Element:
    """An element with its attributes, its children in order, and the text directly or deeper in it."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def told(self) -> str:
        """The text as it is read: one line, a space between any two parts, no style and no script."""
        parts = [child if isinstance(child, str) else child.told for child in self.children]
        return "" if self.tag in RAW else words(" ".join(parts))

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Every element below of that tag whose attributes have these words (`class_` for `class`)."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        found = []
        for child in self.children:
            if isinstance(child, Element):
                fits = all(value in child.attributes.get(name, "").split() for name, value in wanted.items())
                found += [child] if fits and tag in {"", child.tag} else []
                found += child.all(tag, **attributes)
        return found

    def one(self, tag: str = "", **attributes: str) -> Element:
        [found] = self.all(tag, **attributes)
        return found

    @property
    def tags(self) -> Counter[str]:
        return Counter(element.tag for element in self.all())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data[:80]}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data[:80]}")


def read(page: str) -> Element:
    """The document, after checking that every element is closed where it should be."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    assert [element.tag for element in reader.open] == ["document"]
    return reader.root


def words(text: str) -> str:
    """A text with every run of white space as one space."""
    return re.sub(r"\s+", " ", text).strip()
