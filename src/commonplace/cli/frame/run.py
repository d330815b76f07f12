"""Start of every command: settings, logging and the event loop."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Coroutine
from typing import Final, TypeVar

from commonplace.core.request_context import OPERATOR, request_context
from commonplace.core.settings import Settings, load_settings
from commonplace.core.sources import Source
from commonplace.projects import with_workspace

AGENT_VARIABLES: Final = ("CLAUDECODE", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "CODEX_SANDBOX")
"""Variables that the shells of coding agents set."""

T = TypeVar("T")


def settings() -> Settings:
    """Load the settings and set their log level.

    Raises:
        SettingsError: A setting is unknown or not valid.
    """
    loaded = with_workspace(load_settings()).settings
    logging.getLogger().setLevel(loaded.log_level)
    return loaded


def source() -> Source:
    """Return the source of what a command writes: a person, or an agent if an agent's shell runs the command."""
    return Source.AGENT if any(os.environ.get(name) for name in AGENT_VARIABLES) else Source.PERSON


def run(work: Coroutine[None, None, T], *, of: Source | None = None) -> T:
    """Run the work of a command as the operator of the default tenant; ``of`` replaces the result of :func:`source`.

    SIGTERM cancels the work, so that it releases its claims; the exit status is then 143.
    """
    with request_context(actor=OPERATOR, source=of or source()):
        try:
            return asyncio.run(_woken_by_signals(work))
        except asyncio.CancelledError:
            sys.exit(128 + signal.SIGTERM)


async def _woken_by_signals(work: Coroutine[None, None, T]) -> T:
    """Await some work on an event loop that Ctrl-C can always wake, and that SIGTERM cancels.

    A loop without a signal handler does not wake up for a signal that arrives just before it sleeps. It would notice
    the interrupt only at the next event, which may never come while a question waits for an answer.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    loop.add_signal_handler(signal.SIGURG, _nothing)

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGTERM)  # A second signal ends the process at once.
        if task is not None:
            task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    return await work


def _nothing() -> None:
    """Ignore a signal."""
