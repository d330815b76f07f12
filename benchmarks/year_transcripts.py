"""Sessions of the year in the forms that the doors take: transcripts of the ops agent, and texts of episodes. Pure."""

import json
import re
from typing import Any, Final, Literal
from uuid import NAMESPACE_URL, UUID, uuid5

from commonplace.hosts.hooks.formats import TranscriptMessage
from commonplace.hosts.hooks.transcripts import digest
from year_data import Learning, Truth, YearSession

EPISODES: Final[UUID] = uuid5(NAMESPACE_URL, "commonplace-year")
CATEGORIES: Final = (
    ("timing", re.compile(r"tim(e|ing)|takes|duration|long|minutes|window", re.IGNORECASE)),
    ("dependency", re.compile(r"depend|needs|order|before|requires|after", re.IGNORECASE)),
    ("behavior", re.compile(r"noise|harmless|warning|quirk|ignore|alarm|log", re.IGNORECASE)),
    ("maintenance", re.compile(r"backup|schedule|update|every|rotation|renew|version", re.IGNORECASE)),
)


def category_of(truth: Truth) -> str:
    """Return the category under which an ops agent notes a thing: the same for all of its values."""
    if truth.kind == "fix":
        return "remediation"
    return next((name for name, pattern in CATEGORIES if pattern.search(truth.what)), "behavior")


def service_of(truth: Truth) -> str:
    """Return the name of a service in a marker."""
    return re.sub(r"[^a-zA-Z0-9_-]+", "-", truth.about).strip("-") or "general"


def markers_of(learning: Learning, truth: Truth, *, category: str, known: str) -> list[str]:
    """Return the marker of a note; ``known`` is the older note of the thing that the agent was given, or empty.

    What ends without a new value is noted in words, and what is confirmed is noted again.
    """
    ending = ""
    if known:
        ending = " (again)" if learning.how == "confirm" else f" (was: {known})"
    text = known if learning.how == "confirm" and known else learning.text
    return [f"[MEMORY:{category}:{service_of(truth)}] {text}{ending}"]


def transcript(session: YearSession, text: str) -> bytes:
    """Return the stream-json transcript of a session in which the agent writes a text."""
    session_id = str(uuid5(EPISODES, f"ops {session.at}"))
    message = {
        "id": f"msg_{session.at:%Y%m%d%H%M}",
        "role": "assistant",
        "model": "year",
        "content": [{"type": "text", "text": text}],
    }
    lines: list[dict[str, Any]] = [
        {
            "type": "system",
            "subtype": "init",
            "session_id": session_id,
            "model": "year",
            "cwd": "/",
            "tools": [],
        },
        {"type": "assistant", "session_id": session_id, "parent_tool_use_id": None, "message": message},
        {
            "type": "result",
            "subtype": "success",
            "is_error": False,
            "session_id": session_id,
            "result": text.splitlines()[0] if text else "",
            "total_cost_usd": 0.0,
            "num_turns": 1,
            "duration_ms": 1000,
        },
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def role_of(speaker: str) -> Literal["user", "assistant"]:
    """Return the role of a speaker: the person is ``me``."""
    return "user" if speaker == "me" else "assistant"


def episode_text(session: YearSession) -> str:
    """Return the text that the hook at the end of a session stores."""
    messages = [
        TranscriptMessage(id=str(number), role=role_of(speaker), text=text, said_at=None)
        for number, (speaker, text) in enumerate(session.turns)
    ]
    return digest(messages)
