"""Memories page: memories by service, with filters, search and sorting (OPS-12, OPS-16, OPS-17)."""

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.operational import (
    GENERAL,
    GRACE,
    Memory,
    MemoryCategory,
    MemoryFilter,
    OperationalMemory,
    ServiceCount,
    Sort,
)
from commonplace.web.access import OpenMemories, installation_reader
from commonplace.web.dashboard.errors import PageRoute
from commonplace.web.dashboard.paging import PAGE_SIZE, counted_pager
from commonplace.web.dashboard.rendering import link, render, wants_fragment
from commonplace.web.limits import LARGEST_ID
from commonplace.web.paging import Offset

PATH: Final = "/memories"
MAX_SEARCH_CHARS: Final = 200

Status = Literal["all", "active", "inactive"]
STATUSES: Final[tuple[Status, ...]] = ("all", "active", "inactive")

SORTS: Final[tuple[tuple[Sort, str], ...]] = (
    ("service", "By service"),
    ("confidence", "Most trusted"),
    ("recency", "Latest"),
)

MemoryId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The filters in the address of the page; an empty text matches everything."""

    service: str
    category: str
    status: Status
    search: str
    sort: Sort
    offset: int

    @property
    def query(self) -> dict[str, object]:
        """The filters for an address, without the offset and without defaults."""
        return {
            "service": self.service,
            "category": self.category,
            "status": None if self.status == "all" else self.status,
            "search": self.search,
            "sort": None if self.sort == "service" else self.sort,
        }

    @property
    def narrows(self) -> bool:
        """Whether a filter is set."""
        return bool(self.service or self.category or self.search) or self.status != "all"

    @property
    def filter(self) -> MemoryFilter:
        """The filter of operational memory."""
        general = self.service == GENERAL
        return MemoryFilter(
            service=None if general or not self.service else self.service,
            general=general,
            category=MemoryCategory(self.category) if self.category else None,
            active=None if self.status == "all" else self.status == "active",
            search=self.search or None,
            sort=self.sort,
            limit=PAGE_SIZE,
            offset=self.offset,
        )

    def url(self, **changed: object) -> str:
        """Return the address of the first page with other filters."""
        return link(PATH, **{**self.query, **changed})


def wanted(
    service: Annotated[str, Query(max_length=MAX_SEARCH_CHARS)] = "",
    category: Annotated[MemoryCategory | Literal[""], Query()] = "",
    status: Annotated[Status | Literal[""], Query()] = "",
    search: Annotated[str, Query(max_length=MAX_SEARCH_CHARS)] = "",
    sort: Annotated[Sort | Literal[""], Query()] = "",
    offset: Offset = 0,
) -> Wanted:
    """Read the filters from the address."""
    return Wanted(
        service=service.strip(),
        category=category,
        status=status or "all",
        search=search.strip(),
        sort=sort or "service",
        offset=offset,
    )


WantedMemories = Annotated[Wanted, Depends(wanted)]

router = APIRouter(
    prefix=PATH, route_class=PageRoute, include_in_schema=False, dependencies=[Depends(installation_reader)]
)


@router.get("")
async def memories_page(request: Request, memories: OpenMemories, wanted: WantedMemories) -> HTMLResponse:
    """Show memories; HTMX gets only the table."""
    views = memories.operational.views
    page = await views.memories(wanted.filter)
    counts = {"all": page.active + page.inactive, "active": page.active, "inactive": page.inactive}
    total = counts[wanted.status]
    pager = counted_pager(PATH, wanted.query, offset=wanted.offset, total=total)
    if pager.offset != wanted.offset:
        wanted = replace(wanted, offset=pager.offset)
        page = await views.memories(wanted.filter)
    return render(
        request,
        "memories/list.html",
        wanted=wanted,
        groups=grouped(page.memories, by_service=wanted.sort == "service"),
        counts=counts,
        pager=pager,
        tabs=[
            (name.title(), counts[name], wanted.url(status=name), name == wanted.status) for name in STATUSES
        ],
        sorts=[(text, None, wanted.url(sort=name), name == wanted.sort) for name, text in SORTS],
        services=choices(await views.services(), wanted.service),
        is_part=wants_fragment(request),
        categories=list(MemoryCategory),
        fading_before=views.now() - GRACE,
    )


def choices(services: list[ServiceCount], chosen: str) -> list[tuple[str, int]]:
    """Return the names of services with the number of their memories, and the chosen one in any case."""
    found = [(count.service or GENERAL, count.memories) for count in services]
    names = {name.lower() for name, _ in found}
    return found if not chosen or chosen.lower() in names else [*found, (chosen, 0)]


def grouped(found: list[Memory], *, by_service: bool) -> list[tuple[str | None, list[Memory]]]:
    """Return memories in groups by service, in their order; without grouping, one group without a name."""
    if not by_service:
        return [(None, found)] if found else []
    names: dict[str, str] = {}

    def key(memory: Memory) -> str:
        name = memory.service or GENERAL
        return names.setdefault(name.lower(), name)

    return [(name, list(group)) for name, group in groupby(found, key)]


async def memory_values(operational: OperationalMemory, memory_id: int) -> dict[str, Any]:
    """Return the values for the page of a memory.

    Raises:
        NotFoundError: No memory has this id.
    """
    memory = await operational.get(memory_id)
    history = await operational.history(memory_id)
    steps = [change for change in history if change.after and "confidence" in change.after]
    return {
        "memory": memory,
        "history": list(reversed(history)),
        "times": [change.created_at.timestamp() for change in steps],
        "values": [change.after["confidence"] for change in steps if change.after],
        "fading_before": operational.views.now() - GRACE,
    }


@router.get("/{memory_id:int}")
async def memory_page(request: Request, memories: OpenMemories, memory_id: MemoryId) -> HTMLResponse:
    """Show a memory with its history."""
    values = await memory_values(memories.operational, memory_id)
    return render(request, "memories/one.html", errors={}, **values)
