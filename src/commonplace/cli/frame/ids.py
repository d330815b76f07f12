"""Ids of memories as arguments of commands, in their output, and in their JSON."""

import re
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import typer

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.json_values import json_safe
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


def note_id(text: str) -> str:
    """Return the id of a note as workspace memory takes it, ``m-3`` for ``w:3``; other text is unchanged."""
    return re.sub(r"^\[?w:(\d+)\]?$", r"m-\1", text.strip())


def missing(error: NotFoundError) -> str:
    """Return the message for a memory that does not exist, with its id as commands print it."""
    if isinstance(error.key, int) and error.kind in {MemoryKind.LESSON, MemoryKind.DIGEST}:
        return f"no {error.kind} with id {MemoryId.of(MemoryKind(error.kind), error.key)}"
    if isinstance(error.key, str) and ":" in error.key and error.kind in set(MemoryKind):
        return f"no {error.kind} with id {error.key}"
    return str(error)


def with_short_id(kind: MemoryKind, noun: object) -> dict[str, Any]:
    """Return a memory as a JSON object; ``short_id``, the id that people type, follows ``id``."""
    document = json_safe(noun)
    return {"id": document["id"], "short_id": str(MemoryId.of(kind, document["id"])), **document}
