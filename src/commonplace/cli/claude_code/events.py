"""The events that have a hook: the function of each, and its deadline."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from commonplace.cli.claude_code.call import HookCall
from commonplace.cli.resident.client import DEADLINES_S

PACKAGE: Final = "commonplace.cli.claude_code"
ACTOR: Final = "claude-code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The function of an event, and its deadline, which is shorter than the host's (see ``hosts/table.py``)."""

    module: str
    function: str
    deadline_s: float


HOOKS: Final = {
    "session-start": Hook(
        module="session_hooks", function="session_start", deadline_s=DEADLINES_S["session-start"]
    ),
    "user-prompt": Hook(module="prompt_hook", function="user_prompt", deadline_s=DEADLINES_S["user-prompt"]),
    "session-end": Hook(
        module="session_hooks", function="session_end", deadline_s=DEADLINES_S["session-end"]
    ),
}


def handler(event: str) -> Callable[[HookCall, Any], Awaitable[str]]:
    """Return the function of an event, which takes an open knowledge memory."""
    module = import_module(f"{PACKAGE}.{HOOKS[event].module}")
    return getattr(module, HOOKS[event].function)
