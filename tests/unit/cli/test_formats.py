"""Transcripts of each host: what becomes a message."""

import json
from typing import Any

import pytest

from commonplace.hosts.hooks.transcripts import digest, read_messages

pytestmark = pytest.mark.requirement("HST-01.1", "HST-02.1", "HST-03.1", "HST-04.1")

AT = "2026-05-01T10:00:00.000Z"
BLOCK = "<commonplace_memory>\nThe port is 1.\n</commonplace_memory>"
Line = dict[str, Any]


def codex(role: str, text: str, **more: object) -> Line:
    """Return a line of a rollout."""
    kind = "output_text" if role == "assistant" else "input_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more}
    return {"timestamp": AT, "type": "response_item", "payload": payload}


def gemini(kind: str, *texts: str) -> Line:
    """Return a line of a chat of Gemini CLI."""
    content: Any = "".join(texts) if kind == "gemini" else [{"text": text} for text in texts]
    return {"id": f"{kind}-{texts}", "timestamp": AT, "type": kind, "content": content}


def opencode(role: str, *parts: Line) -> Line:
    """Return a message as opencode's API gives it."""
    info = {"id": f"msg_{role}", "role": role, "time": {"created": 1_777_629_600_000}}
    return {"info": info, "parts": list(parts)}


def text(words: str, **more: object) -> Line:
    """Return a part with text."""
    return {"type": "text", "text": words, **more}


TRANSCRIPTS: dict[str, list[Line]] = {
    "codex": [
        {
            "timestamp": AT,
            "type": "session_meta",
            "payload": {"id": "s", "base_instructions": {"text": "You are"}},
        },
        codex("developer", BLOCK),
        codex("user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>"),
        codex("user", "# AGENTS.md instructions for /x"),
        codex("user", "Which port?", id="msg_1"),
        {"timestamp": AT, "type": "event_msg", "payload": {"type": "user_message", "message": "Which port?"}},
        {
            "timestamp": AT,
            "type": "response_item",
            "payload": {"type": "function_call_output", "output": "5433"},
        },
        codex("assistant", "5433.", id="msg_2"),
    ],
    "gemini": [
        {"sessionId": "s", "projectHash": "h", "startTime": AT, "kind": "main"},
        {"$set": {"messages": [gemini("user", "<session_context>…</session_context>")]}},
        gemini("info", "Loaded."),
        gemini(
            "user",
            f"<hook_context>{BLOCK}</hook_context>\n\nWhich port?",
            "<hook_context>More</hook_context>",
        ),
        {"$set": {"lastUpdated": AT}},
        gemini("gemini", "5433."),
    ],
    "opencode": [
        opencode("user", text("Which port?"), text(BLOCK, synthetic=True)),
        opencode("assistant", {"type": "step-start"}, {"type": "tool", "output": "x"}, text("5433.")),
    ],
    "cursor": [
        {"role": "user", "message": {"content": [text("<user_query>\nWhich port?\n</user_query>")]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "Read"}, text("5433.")]}},
        {"role": "tool", "message": {"content": [text("secret output")]}},
    ],
    "claude-code": [
        {"type": "attachment", "attachment": {"type": "hook_success", "stdout": BLOCK}},
        {"type": "user", "uuid": "1", "timestamp": AT, "message": {"content": "Which port?"}},
        {"type": "assistant", "uuid": "2", "timestamp": AT, "message": {"content": [text("5433.")]}},
        {"type": "user", "uuid": "3", "toolUseResult": {"stdout": "tool"}, "message": {"content": "tool"}},
        {"type": "api-request-blob", "data": "x"},
    ],
}


@pytest.mark.parametrize("host", TRANSCRIPTS)
def test_prompts_and_answers_are_messages_and_nothing_else_is(host: str) -> None:
    """Tool results, settings, the output of hooks and what the host adds are left out; each message has its own id."""
    messages = list(read_messages(json.dumps(line) for line in TRANSCRIPTS[host]))
    assert digest(messages) == "User: Which port?\n\nAssistant: 5433."
    assert len({message.id for message in messages}) == 2
    assert host == "cursor" or all(message.said_at is not None for message in messages)
    if host in ("codex", "gemini", "claude-code"):
        assert {f"{message.said_at:%Y-%m-%dT%H:%M}" for message in messages} == {"2026-05-01T10:00"}


@pytest.mark.parametrize(
    "line",
    [
        {"payload": {"type": "message"}, "type": "response_item"},
        {"payload": [], "type": "user", "content": None},
        {"info": {}, "parts": ["x", {"type": "text", "text": 7}]},
        {"info": {"role": "user", "time": "now"}, "parts": []},
        {"role": ["user"], "message": {}},
        {"type": "user", "message": {"content": [{"type": "text"}, 7]}},
        {"type": {}, "content": {}},
    ],
)
def test_a_line_of_another_form_is_no_message(line: Line) -> None:
    """A later version of a host may write what this one does not know."""
    assert list(read_messages([json.dumps(line)])) == []
