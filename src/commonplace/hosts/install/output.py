"""Output of a hook in the format of each host."""

import json
from collections.abc import Callable, Mapping
from typing import Final

CLAUDE_CODE: Final = "claude-code"


def _context(event: str, text: str) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def _cursor(event: str, text: str) -> str:
    more = {"continue": True} if event == "beforeSubmitPrompt" else {}
    return json.dumps({**more, "additional_context": text})


_FORMS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "gemini": _context,
    "vscode": _context,
    "cursor": _cursor,
}
"""The hosts that read JSON; the others read plain text."""


def rendered(text: str, *, host: str, event: str) -> str:
    """Return a text for the model in a host's format; ``event`` is the host's event name. An empty text stays empty."""
    form = _FORMS.get(host)
    return form(event, text) if text and form else text
