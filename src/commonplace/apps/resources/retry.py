"""One retry after a database error (APP-04.2, APP-05.2)."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from commonplace.apps.model.counts import Counts
from commonplace.core.errors import StorageError

log = logging.getLogger(__name__)

T = TypeVar("T")


async def twice(
    work: Callable[[], Awaitable[T]],
    counts: Counts,
    *,
    app_id: str,
    conversation_id: str | None = None,
) -> T:
    """Run a transaction, and retry it once if the database fails.

    Raises:
        StorageError: The transaction failed twice.
    """
    try:
        return await work()
    except StorageError as error:
        counts.fallbacks["retry"] += 1
        log.warning(
            "the database failed; the transaction is retried once: %s",
            error,
            extra={"app_id": app_id, "conversation_id": conversation_id},
        )
        return await work()
