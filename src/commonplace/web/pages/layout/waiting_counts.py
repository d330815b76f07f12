"""The number of items that wait for a person, for the sidebar.

Operational memory counts its pairs for each page. The other items take longer, so their number comes from the last time
that this process listed them. A page with an old number requests a new number after it is shown.
"""

import logging
import time
from dataclasses import dataclass
from typing import Final

from fastapi import Request

from commonplace.core.errors import CommonplaceError
from commonplace.services.review.ids import ItemId, ItemKind
from commonplace.services.review.queue import Listing
from commonplace.web.http.access import known_caller, reviews_of

FRESH_S: Final = 300
"""The age from which a number is old."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Count:
    """A number of items, and the monotonic time when they were listed."""

    number: int
    listed_at: float


_UNKNOWN: Final = _Count(0, float("-inf"))


async def list_waiting(request: Request) -> Listing:
    """Return the items that wait for the caller, and store how many they are besides pairs of observations."""
    listing = await reviews_of(request).list_items()
    if listing.problem is None:
        kinds = [ItemId.parse(item.id).kind for item in listing.items]
        note_waiting(request, number=sum(kind is not ItemKind.OBSERVATIONS for kind in kinds))
    return listing


def note_waiting(request: Request, *, number: int | None = None, change: int = 0) -> None:
    """Store how many items wait besides pairs of observations: a number, or a change of the last number."""
    caller = known_caller(request)
    if caller is None:
        return
    counts, tenant = _counts(request), caller.principal.tenant_id
    last = counts.get(tenant, _UNKNOWN) if number is None else _Count(number, time.monotonic())
    counts[tenant] = _Count(max(0, last.number + change), last.listed_at)


def is_waiting_old(request: Request) -> bool:
    """Return whether the last number is unknown or old."""
    caller = known_caller(request)
    if caller is None:
        return False
    last = _counts(request).get(caller.principal.tenant_id, _UNKNOWN)
    return time.monotonic() - last.listed_at > FRESH_S


async def total_waiting(request: Request) -> int:
    """Return how many items wait for the caller."""
    caller = known_caller(request)
    if caller is None:
        return 0
    number = _counts(request).get(caller.principal.tenant_id, _UNKNOWN).number
    try:
        return number + await reviews_of(request).count_pairs()
    except CommonplaceError as error:
        log.error("the number of reviews in the sidebar: %s", error)  # noqa: TRY400 - a line is enough
        return number


def _counts(request: Request) -> dict[str, _Count]:
    """Return the last numbers by tenant."""
    state = request.app.state
    if not hasattr(state, "waiting_counts"):
        state.waiting_counts = dict[str, _Count]()
    return state.waiting_counts
