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
    """Return the function of an event, which takes an open knowledge memory.

    In a project that is switched off, it does nothing.
    """
    module, function = HANDLERS[event]
    work: Callable[[HookCall, Any], Awaitable[str]] = getattr(import_module(f"{PACKAGE}.{module}"), function)

    async def answer(call: HookCall, memory: Any) -> str:  # noqa: ANN401 - an open knowledge memory
        return "" if call.is_off else await work(call, memory)

    return answer
