"""The log of outages: one line when a server is lost, and one when it is back.

asyncpg logs a traceback for each try to restore a connection. Those records are left out, because the outage is in the
log already.
"""

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from commonplace.core.errors import StorageError

_log = logging.getLogger(__name__)
_DRIVER: Final = "asyncpg.pool"


class OutageLog:
    """The log of the outages of one server, as a pool of connections meets them.

    A server that was never reached has no outage: the caller who opens the pool gets the error.

    Args:
        where: The server, as messages name it.
    """

    def __init__(self, where: str) -> None:
        self._where = where
        self._was_reached = False
        self._is_out = False
        logging.getLogger(_DRIVER).addFilter(is_news)

    @contextmanager
    def connecting(self) -> Generator[None]:
        """Note whether the server was reached inside the block."""
        try:
            yield
        except StorageError as error:
            if self._was_reached and not self._is_out:
                self._is_out = True
                _log.warning("%s; requests fail until the server can be reached again", error)
            raise
        self._was_reached = True
        if self._is_out:
            self._is_out = False
            _log.warning("PostgreSQL, %s, can be reached again", self._where)


def is_news(record: logging.LogRecord) -> bool:
    """Return whether a record of the driver says more than the log of an outage."""
    return not (record.exc_info and isinstance(record.exc_info[1], StorageError))
