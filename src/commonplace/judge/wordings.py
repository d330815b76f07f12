"""Wordings: one text with the words of two, and texts without the differences that tell nothing. Pure."""

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from commonplace.judge.words import fold, tokenise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_JOINED_CHARS: Final = 300
"""Length up to which one text holds both wordings of a refinement. Source: R-OPS-5."""

_SEPARATOR: Final = "; "


def joined(existing: str, emitted: str) -> str | None:
    """Return one text with every word of both, or `None` if it would exceed 300 characters."""
    if set(tokens_of(existing)) <= set(tokens_of(emitted)) and existing.count(_SEPARATOR) <= emitted.count(
        _SEPARATOR
    ):
        text = emitted
    else:
        text = f"{existing.rstrip(' .;')}{_SEPARATOR}{emitted}"
    return text if len(text) <= MAX_JOINED_CHARS else None


def statements(text: str) -> list[str]:
    """Return the statements that :func:`joined` joined to a text."""
    return text.split(_SEPARATOR)


@lru_cache(maxsize=4096)
def tokens_of(text: str) -> tuple[str, ...]:
    """Return a text without case and spacing, to compare two texts word for word."""
    return tokenise(fold(text))


@lru_cache(maxsize=4096)
def claim_of(text: str) -> tuple[object, ...]:
    """Return the words of a text in order, with each amount in base units: "60s" and "60 seconds" are one."""
    # Imported here: its patterns take longer to compile than most commands may take, and few compare texts.
    extract: Callable[[tuple[str, ...]], Iterable[object]] = import_module(
        "commonplace.judge.quantity_reading"
    ).extract
    return tuple(extract(tokens_of(text)))
