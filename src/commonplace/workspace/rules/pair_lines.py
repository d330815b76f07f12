"""Lines of JSON about pairs of notes that oppose each other.

Each line is the state of a pair; the last line of a pair counts. A pair is named by its two texts, not by ids, because
a merge in Git may give a note another id, and an edit makes it another statement. No line holds a text, except that of
a note that a decision deleted.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, cast

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.judge import PairVerdict
from commonplace.workspace.model.memories import Note
from commonplace.workspace.rules.entries import format_line, parse_line
from commonplace.workspace.rules.repetition import same_words


@dataclass(frozen=True, slots=True, kw_only=True)
class PairLine:
    """The state of a pair.

    Attributes:
        older: The name of the text of the older note; see :func:`text_name`.
        newer: The name of the text of the newer note.
        deleted: The older note, if a decision deleted it.
    """

    older: str
    newer: str
    since: datetime
    decision: PairVerdict | None = None
    decided_by: str | None = None
    decided_at: datetime | None = None
    deleted: Note | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The names of both texts."""
        return self.older, self.newer


def text_name(text: str) -> str:
    """Return the name of a text, whatever its case and spacing."""
    return sha256(same_words(text).encode()).hexdigest()[:24]


def to_bytes(line: PairLine) -> bytes:
    """Return a state as one line with its newline."""
    deleted = None if line.deleted is None else format_line(line.deleted).decode().rstrip("\n")
    document = {
        "older": line.older,
        "newer": line.newer,
        "since": format_timestamp(line.since),
        "decision": line.decision,
        "by": line.decided_by,
        "at": line.decided_at and format_timestamp(line.decided_at),
        "deleted": deleted,
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def read_lines(data: bytes) -> dict[tuple[str, str], PairLine]:
    """Return the state of each pair, in the order in which the pairs were marked; a damaged line is skipped."""
    states: dict[tuple[str, str], PairLine] = {}
    for line in _readable(data.splitlines()):
        states[line.key] = line
    return states


def _readable(raw: Iterable[bytes]) -> Iterable[PairLine]:
    for each in raw:
        try:
            yield _parse(json.loads(each))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError, InvalidInputError):
            continue


def _parse(values: dict[str, Any]) -> PairLine:
    at, deleted = values["at"], values["deleted"]
    return PairLine(
        older=str(values["older"]),
        newer=str(values["newer"]),
        since=parse_timestamp(values["since"]),
        decision=None if values["decision"] is None else PairVerdict(values["decision"]),
        decided_by=cast("str | None", values["by"]),
        decided_at=None if at is None else parse_timestamp(at),
        deleted=None if deleted is None else parse_line(deleted.encode()),
    )
