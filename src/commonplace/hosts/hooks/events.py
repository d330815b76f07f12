"""Functions for the events that have a hook."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final

from commonplace.hosts.hooks.hook_input import HookCall

PACKAGE: Final = "commonplace.hosts.hooks"
ACTOR: Final = "claude-code"


HANDLERS: Final = {
    "session-start": ("session_hooks", "session_start"),
    "user-prompt": ("prompt_hook", "user_prompt"),
    "session-end": ("session_hooks", "session_end"),
}
"""The module and the function of each event."""


def handler(event: str) -> Callable[[HookCall, Any], Awaitable[str]]:
    """Return the function of an event, which takes an open knowledge memory."""
    module, function = HANDLERS[event]
    return getattr(import_module(f"{PACKAGE}.{module}"), function)
