"""What every command begins with: settings, logging, and the one entry into the event loop."""

import asyncio
import logging
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
        return asyncio.run(work)
