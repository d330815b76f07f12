"""Ids of lessons, digests and notes as arguments of the commands of their memories."""

from collections.abc import Callable
from typing import Final
from uuid import UUID

import typer

from commonplace.core.errors import InvalidInputError
from commonplace.services.memory_ids import LETTERS, MemoryId, MemoryKind, parse_memory_id


def number_of(kind: MemoryKind) -> Callable[[str], int]:
    """Return a parser for the ids of a kind: ``o:12`` or ``12`` for a lesson.

    The parser raises :class:`typer.BadParameter` for the id of another kind.
    """
    letter = LETTERS[kind]

    def parse(text: str) -> int:
        try:
            parsed = parse_memory_id(f"{letter}:{text}" if text.strip().isdigit() else text)
        except InvalidInputError:
            parsed = None
        if parsed is None or isinstance(parsed, UUID) or parsed.kind is not kind:
            raise typer.BadParameter(f"expected the id of a {kind}, such as {letter}:12, got {text!r}")
        return parsed.number

    return parse


LESSON_ID: Final = typer.Argument(metavar="ID", parser=number_of(MemoryKind.LESSON))
DIGEST_ID: Final = typer.Argument(metavar="ID", parser=number_of(MemoryKind.DIGEST))


def lesson_id(number: int) -> str:
    """Return the id of a lesson as commands print it."""
    return str(MemoryId.of(MemoryKind.LESSON, number))


def digest_id(number: int) -> str:
    """Return the id of a digest as commands print it."""
    return str(MemoryId.of(MemoryKind.DIGEST, number))
