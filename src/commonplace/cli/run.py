"""What every command begins with: settings, logging, and the one entry into the event loop."""

import asyncio
import logging
import signal
from collections.abc import Coroutine
from typing import TypeVar

from commonplace.core.context import request_context
from commonplace.core.settings import Settings, load_settings

ACTOR = "operator"

T = TypeVar("T")


def settings() -> Settings:
    """Load the settings and set the level of logging that they ask for.

    Raises:
        SettingsError: A setting is unknown or not of its form.
    """
    loaded = load_settings().settings
    logging.getLogger().setLevel(loaded.log_level)
    return loaded


def run(work: Coroutine[None, None, T]) -> T:
    """Run a command's work as the operator of the default tenant, to its end."""
    with request_context(actor=ACTOR):
        return asyncio.run(_woken_by_signals(work))


async def _woken_by_signals(work: Coroutine[None, None, T]) -> T:
    """Do some work on an event loop that Ctrl-C wakes at any moment.

    A loop that has no signal handler of its own is not woken by a signal that comes just as it falls asleep: the
    interrupt is noticed with the next event, and where a question waits for an answer there is none.
    """
    asyncio.get_running_loop().add_signal_handler(signal.SIGURG, _nothing)
    return await work


def _nothing() -> None:
    """Handle a signal that means nothing here."""
