"""Stream-json output as the claude CLI writes it, made of the texts that a test is about."""

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

_numbers = count(1)


def init(session_id: str = "s-1") -> dict[str, Any]:
    """Return the line that begins a session."""
    return {
        "type": "system",
        "subtype": "init",
        "session_id": session_id,
        "model": "claude-x",
        "cwd": "/srv",
        "tools": [],
    }


def says(text: str, *, session_id: str = "s-1", message_id: str | None = None) -> dict[str, Any]:
    """Return a text block of the assistant, in a message of its own unless one is named."""
    message = {
        "id": message_id or f"msg_{next(_numbers)}",
        "role": "assistant",
        "model": "claude-x",
        "content": [{"type": "text", "text": text}],
    }
    return {"type": "assistant", "session_id": session_id, "parent_tool_use_id": None, "message": message}


def tool_result(text: str, *, session_id: str = "s-1") -> dict[str, Any]:
    """Return what a tool gave back."""
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": text, "is_error": False}
    return {"type": "user", "session_id": session_id, "message": {"role": "user", "content": [block]}}


def result(
    text: str = "done", *, session_id: str = "s-1", is_error: bool = False, cost: float = 0.02
) -> dict[str, Any]:
    """Return the line that ends a run."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": is_error,
        "session_id": session_id,
        "result": text,
        "total_cost_usd": cost,
        "num_turns": 3,
        "duration_ms": 1500,
    }


def encode(*lines: dict[str, Any] | str) -> bytes:
    """Return lines as a transcript; a string is a line as it is."""
    return b"".join((line if isinstance(line, str) else json.dumps(line)).encode() + b"\n" for line in lines)


def session(*texts: str, session_id: str = "s-1") -> bytes:
    """Return the transcript of a session in which the agent says these texts."""
    spoken = [says(text, session_id=session_id) for text in texts]
    return encode(init(session_id), *spoken, result(session_id=session_id))


async def chunks(data: bytes, size: int = 1 << 16) -> AsyncIterator[bytes]:
    """Yield a transcript in pieces."""
    for start in range(0, len(data), size):
        yield data[start : start + size]
