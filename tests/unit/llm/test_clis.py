"""Reading the output of the CLIs of agent hosts, as recorded."""

import json

import pytest

from commonplace.llm.cli_process import Printed, is_unavailable, is_without_access
from commonplace.llm.clis import CLIS, UNPRICED, CliOutcome


def codex(*events: object, status: int = 1) -> CliOutcome | None:
    """Return the result of Codex in lines of JSON."""
    out = "\n".join(["Reading prompt", *map(json.dumps, events)])
    return CLIS["codex"].read(Printed(status=status, out=out, err="WARNING: something"))


def gemini(message: str, code: object, logged: str = "") -> CliOutcome | None:
    """Return the result of Gemini CLI for an error behind a log."""
    error = {"session_id": "s", "error": {"type": "Error", "message": message, "code": code}}
    err = f"Warning: 256-color\n{logged}\n{json.dumps(error, indent=2)}\n"
    return CLIS["gemini-cli"].read(Printed(status=1, out="", err=err))


@pytest.mark.parametrize(
    ("message", "status", "unavailable", "no_access"),
    [
        ("unexpected status 401 Unauthorized: bad key, url: http://x", 401, False, True),
        ("unexpected status 404 Not Found: no model", 404, False, True),
        ("exceeded retry limit, last status: 429 Too Many Requests", 429, True, False),
        ("We currently experience high demand, which may cause temporary errors.", None, True, False),
        ("stream disconnected before completion: error sending request", None, True, False),
        ("You've hit your usage limit. Try again at 5:00 PM.", None, True, False),
        ("Missing environment variable: `OPENAI_API_KEY`.", None, False, True),
        ('{"error": {"message": "too long"}}', None, False, False),
    ],
)
def test_a_failure_of_codex_is_told_apart(
    message: str, status: int | None, *, unavailable: bool, no_access: bool
) -> None:
    """By the HTTP status in its message, otherwise by its words."""
    found = codex({"type": "turn.started"}, {"type": "turn.failed", "error": {"message": message}})
    assert found == CliOutcome(text=message, failed=True, status=status, usage=UNPRICED)
    assert is_unavailable(status, message) is unavailable
    assert is_without_access(status, message) is no_access


def test_output_of_codex_without_an_answer_is_no_result() -> None:
    """A turn that never ended, or that said nothing."""
    said = {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "x"}}
    assert codex(said) is None
    assert codex({"type": "turn.completed", "usage": {"input_tokens": 1}}, status=0) is None


@pytest.mark.parametrize(
    ("message", "code", "logged", "status", "unavailable", "no_access"),
    [
        ('{"error":{"message":"bad key"}}', 401, "", 401, False, True),
        ('{"error":{"code":404,"message":"gone"}}', 1, "ModelNotFoundError: x", 404, False, True),
        ("no such model", 1, "ModelNotFoundError: x", None, False, True),
        ("You have exhausted your capacity", 429, "", 429, True, False),
        ("exception TypeError: fetch failed sending request", 1, "", None, True, False),
        ("Please set an Auth method in your settings.json", 41, "", None, False, True),
        ("too long", 400, "", 400, False, False),
    ],
)
def test_a_failure_of_gemini_is_told_apart(
    message: str, code: object, logged: str, status: int | None, *, unavailable: bool, no_access: bool
) -> None:
    """Its code is the HTTP status or that of the process; logs stand before it."""
    found = gemini(message, code, logged)
    assert found is not None
    assert (found.failed, found.status) == (True, status)
    assert is_unavailable(status, found.text) is unavailable
    assert is_without_access(status, found.text) is no_access
    assert "settings.json" not in found.text


@pytest.mark.parametrize("out", ["", "Welcome!", "[1]", '{"session_id": "s"}', "\ufffd"])
def test_output_of_gemini_that_is_no_result_is_none(out: str) -> None:
    """Whatever else it prints."""
    assert CLIS["gemini-cli"].read(Printed(status=0, out=out, err="")) is None
