"""Steps of a first use on standard error, so that nobody waits in silence."""

import logging
import sys

import typer

from commonplace.core.progress import LOGGER


def show_progress() -> None:
    """Print the steps of this command that take seconds: all of them on a terminal, else the first one."""
    logger = logging.getLogger(LOGGER)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.handlers = [_Steps()]


class _Steps(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self._is_begun = False

    def emit(self, record: logging.LogRecord) -> None:
        """Print a step, unless standard error is no terminal and a step was printed before."""
        if not self._is_begun or sys.stderr.isatty():
            typer.echo(f"{record.getMessage()} …", err=True)
        self._is_begun = True
