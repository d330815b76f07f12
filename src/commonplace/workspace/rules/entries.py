"""The line of JSON of a memory in the file."""

import json
import re
from typing import Any, cast

from commonplace.core.clock import format_timestamp, parse_timestamp
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import require_text
from commonplace.workspace.model.bounds import MAX_TEXT_CHARS
from commonplace.workspace.model.memories import Note, require_id, require_scope, require_tags

_ID_IN_DAMAGE = re.compile(rb'"id"\s{0,8}:\s{0,8}"m-([1-9][0-9]{0,14})"')
_quote = json.JSONEncoder(ensure_ascii=False).encode
_LINE_BREAKS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def format_line(memory: Note) -> bytes:
    """Return a memory as one line of JSON with its newline.

    The fields are id, scope, text, tags and ts, in that order. Text is UTF-8; the three Unicode line breaks are
    escaped, because some JSONL readers split lines there.

    Source: WSP-01.
    """
    text, tags = _quote(memory.text), ",".join(map(_quote, memory.tags))
    moment = format_timestamp(memory.created_at, precision="seconds")
    # Encoding a whole object takes four times as long, and every store runs this line.
    line = f'{{"id":"{memory.id}","scope":"{memory.scope}","text":{text},"tags":[{tags}],"ts":"{moment}"}}'
    if not line.isascii():
        line = line.translate(_LINE_BREAKS)
    return f"{line}\n".encode()


def parse_line(raw: bytes) -> Note:
    """Read a memory from one line; further fields are ignored.

    Raises:
        InvalidInputError: The line is damaged: it is not a JSON object, or a field is missing or invalid.
    """
    try:
        record: object = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidInputError("line", "a JSON object", f"{len(raw)} bytes that are not JSON") from None
    if not isinstance(record, dict):
        raise InvalidInputError("line", "a JSON object", type(record).__name__)
    fields = cast("dict[str, Any]", record)
    timestamp = fields.get("ts")
    if not isinstance(timestamp, str):
        raise InvalidInputError("ts", "an ISO 8601 timestamp such as 2026-02-26T12:00:00Z", timestamp)
    return Note(
        number=require_id(fields.get("id")),
        text=require_text(fields.get("text"), field="text", max_chars=MAX_TEXT_CHARS),
        scope=require_scope(fields.get("scope")),
        tags=require_tags(fields.get("tags")),
        created_at=parse_timestamp(timestamp, field="ts"),
    )


def number_in_damage(raw: bytes) -> int:
    """Return the number of the id in a damaged line, or 0 if the line shows no id."""
    found = _ID_IN_DAMAGE.search(raw)
    return int(found[1]) if found else 0
