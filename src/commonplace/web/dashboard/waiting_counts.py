"""The number of items that wait for a person, for the sidebar.

Operational memory counts its pairs for each page. Knowledge memory needs longer: its number is that of the last time
when the overview or the review page listed the items.
"""

import logging
from typing import Any, cast

from fastapi import Request

from commonplace.core.errors import CommonplaceError
from commonplace.web.access import known_caller, memories

log = logging.getLogger(__name__)


def note_waiting(request: Request, *, number: int | None = None, change: int = 0) -> None:
    """Note how many items of knowledge memory wait: a number, or a change of the last number."""
    caller = known_caller(request)
    if caller is None:
        return
    counts = _counts(request)
    tenant = caller.principal.tenant_id
    counts[tenant] = max(0, (counts.get(tenant, 0) if number is None else number) + change)


async def total_waiting(request: Request) -> int:
    """Return how many items wait for the caller in both memories."""
    caller = known_caller(request)
    if caller is None:
        return 0
    number = _counts(request).get(caller.principal.tenant_id, 0)
    if not caller.principal.of_installation:
        return number
    try:
        return number + await memories(request).operational.count_reviews()
    except CommonplaceError as error:
        log.error("the number of reviews in the sidebar: %s", error)  # noqa: TRY400 - a line is enough
        return number


def _counts(request: Request) -> dict[str, int]:
    """Return the last numbers of knowledge memory by tenant."""
    state = request.app.state
    if not hasattr(state, "waiting_counts"):
        state.waiting_counts = dict[str, int]()
    return cast("Any", state).waiting_counts
