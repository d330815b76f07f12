"""Lines of a session's output, for people who watch it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from commonplace.storage.rows import Noun

MAX_OUTPUT_CHARS: Final = 8_000
"""Longer texts are cut."""


class OutputKind(StrEnum):
    """The kind of a line."""

    TEXT = "text"
    """Text that the agent wrote."""
    TOOL = "tool"
    """A tool call: its name and the start of its input."""
    TOOL_RESULT = "tool_result"
    TOOL_ERROR = "tool_error"
    NOTICE = "notice"
    """A message of the CLI or of commonplace: failures, time-outs, damaged lines, standard error."""
    RESULT = "result"
    """The result of the session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLine(Noun):
    """A stored line; ``seq`` counts from 1 in its session, ``text`` may hold line breaks."""

    seq: int
    kind: OutputKind
    text: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A line to show; ``key`` is the id of its event in the stream, if it has one."""

    kind: OutputKind
    text: str
    key: str | None = None
