"""How MLflow is spoken to: its errors as ours, its pages as one list, literals of its filter language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalsets.records import InputError

PAGE = 200


class RegistryError(InputError):
    """MLflow refused a call; `code` is its error code, or empty."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


def unless_there(create: Callable[..., Any], *args: Any) -> None:
    """Create something that another process may be creating too."""
    try:
        create(*args)
    except RegistryError as error:
        if error.code != "RESOURCE_ALREADY_EXISTS":
            raise


def every(search: Callable[..., Any], *args: Any) -> list[Any]:
    """All results of a search, page by page."""
    page = search(*args, max_results=PAGE)
    found = list(page)
    while page.token:
        page = search(*args, max_results=PAGE, page_token=page.token)
        found += page
    return found


def quoted(text: str) -> str:
    """A literal of MLflow's filter language, which knows no escapes. Raises `InputError` for a text with a quote."""
    if "'" in text:
        raise InputError(f"{text}: a name in the registry has no quotes; rename it")
    return f"'{text}'"
