"""The log of the hooks: ``$COMMONPLACE_HOME/logs/hooks.log``, of bounded size."""

import logging
import sys
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from commonplace.core.atomic_write import open_private
from commonplace.core.directories import make_directories

LOG_FILE: Final = "hooks.log"
MAX_LOG_BYTES: Final = 256 * 1024


class _LogFile(RotatingFileHandler):
    """A log file that prints records on standard error if it cannot be written; the model does not see that output."""

    def _open(self) -> TextIOWrapper:
        """Open the file, which only its owner can read: errors quote prompts and memories."""
        return open_private(Path(self.baseFilename), self.mode, encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is the library's
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()


def log_to(home: Path) -> None:
    """Send the log to a file of bounded size and, if there is one, to a terminal.

    The home may be new; it is created for its owner only.
    """
    with suppress(OSError):
        make_directories(home / "logs")
    handler = _LogFile(
        home / "logs" / LOG_FILE, maxBytes=MAX_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    also = [logging.StreamHandler()] if sys.stderr.isatty() else []
    logging.basicConfig(handlers=[handler, *also], level=logging.WARNING, force=True)
