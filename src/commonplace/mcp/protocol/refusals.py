"""Refusals of lines that are no messages of JSON-RPC, and that the protocol's library would drop unanswered. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from commonplace.core.decoding import LENIENT

NOT_JSON: Final = -32700
NO_MESSAGE: Final = -32600
"""Codes of errors. Source: JSON-RPC 2.0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRefusal:
    """Why a line is refused.

    Attributes:
        id: The id of the message if it has a valid one.
    """

    code: int
    message: str
    id: str | int | None = None


def find_refusal(line: bytes) -> LineRefusal | None:
    """Return why a line is no message; ``None`` for a message."""
    try:
        message: object = json.loads(line.decode("utf-8", LENIENT))
    except (ValueError, RecursionError):
        return LineRefusal(code=NOT_JSON, message="expected a message in JSON on one line")
    if isinstance(message, list):
        count = len(cast("list[object]", message))
        return _no_message(f"expected one message a line, got a batch of {count}: send each on its own line")
    if not isinstance(message, dict):
        return _no_message("expected a message: a JSON object")
    return _refusal_of(cast("dict[str, Any]", message))


def _refusal_of(message: dict[str, Any]) -> LineRefusal | None:
    id_ = message.get("id")
    is_valid = isinstance(id_, str | int) and not isinstance(id_, bool)
    if "method" in message and "id" in message and not is_valid:
        return _no_message("expected an id that is a text or a whole number; a notification has none")
    answered_id = id_ if is_valid else None
    if message.get("jsonrpc") != "2.0":
        return _no_message('expected "jsonrpc": "2.0"', answered_id)
    is_answer = not {"result", "error"}.isdisjoint(message) and "method" not in message
    if not isinstance(message.get("method"), str) and not is_answer:
        return _no_message("expected a method", answered_id)
    if not isinstance(message.get("params") or {}, dict):
        return _no_message("expected an object as params", answered_id)
    return None


def _no_message(text: str, id_: str | int | None = None) -> LineRefusal:
    return LineRefusal(code=NO_MESSAGE, message=text, id=id_)
