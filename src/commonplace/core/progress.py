"""Steps that a person waits for, such as the first use of a home.

A step is a record of a logger of its own. Commands show it on standard error; other programs ignore it.
"""

import logging
from typing import Final

LOGGER: Final = "commonplace.progress"

_log = logging.getLogger(LOGGER)


def begin_step(step: str) -> None:
    """Report the beginning of a step that takes seconds, in words that follow the name of the program."""
    _log.info(step)


def warn_of_step(step: str) -> None:
    """Report the beginning of a step that cannot be taken back; programs that show no steps log a warning."""
    _log.warning(step)
