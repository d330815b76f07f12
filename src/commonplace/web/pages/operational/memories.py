"""Memories page: memories by service, with filters, search and sorting (OPS-12, OPS-16, OPS-17)."""

from dataclasses import replace
from itertools import groupby
from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.operational import (
    GENERAL,
    Lesson,
    MemoryCategory,
    MemoryFilter,
    OperationalMemory,
    ServiceCount,
    Sort,
)
from commonplace.web.http.access import OpenMemories, installation_reader
from commonplace.web.http.limits import LARGEST_ID, SearchWords
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.paging import PAGE_SIZE, ListFilters, counted_pager
from commonplace.web.pages.layout.rendering import link, render, wants_fragment

PATH: Final = "/memories"

STATUSES: Final = ("all", "active", "inactive")
SORTS: Final = (("service", "By service"), ("confidence", "Most trusted"), ("recency", "Latest"))

MemoryId = Annotated[int, Path(ge=1, le=LARGEST_ID)]


class MemoriesAddress(ListFilters):
    """The filters in the address of the page."""

    service: SearchWords = ""
    category: MemoryCategory | Literal[""] = ""
    status: Literal["", "all", "active", "inactive"] = ""
    search: SearchWords = ""
    sort: Sort | Literal[""] = ""

    @property
    def filter(self) -> MemoryFilter:
        """The filter of operational memory."""
        general = self.service == GENERAL
        return MemoryFilter(
            service=None if general else self.service or None,
            general=general,
            category=self.category or None,
            active={"active": True, "inactive": False}.get(self.status),
            search=self.search or None,
            sort=self.sort or "service",
            limit=PAGE_SIZE,
            offset=self.offset,
        )

    def url(self, **changed: object) -> str:
        """Return the address of the first page with other filters."""
        return link(PATH, **self.query | changed)


router = pages(PATH, installation_reader)


@router.get("")
async def memories_page(
    request: Request, memories: OpenMemories, wanted: Annotated[MemoriesAddress, Query()]
) -> HTMLResponse:
    """Show memories; HTMX gets only the table."""
    operational = memories.operational
    page = await operational.page(wanted.filter)
    counts = {"all": page.active + page.inactive, "active": page.active, "inactive": page.inactive}
    status, sort = wanted.status or "all", wanted.filter.sort
    pager = counted_pager(PATH, wanted.query, offset=wanted.offset, total=counts[status])
    if pager.offset != wanted.offset:
        page = await operational.page(replace(wanted.filter, offset=pager.offset))
    return render(
        request,
        "memories/list.html",
        wanted=wanted,
        groups=grouped(page.memories, by_service=sort == "service"),
        pager=pager,
        tabs=[(name.title(), counts[name], wanted.url(status=name), name == status) for name in STATUSES],
        sorts=[(text, None, wanted.url(sort=name), name == sort) for name, text in SORTS],
        services=choices(await operational.figures.services(), wanted.service),
        is_part=wants_fragment(request),
        categories=list(MemoryCategory),
        **status_values(memories.operational),
    )


def status_values(operational: OperationalMemory) -> dict[str, Any]:
    """Return what the templates need for the status of a memory: active, inactive, fading or flagged."""
    return {"fading_before": operational.now() - operational.grace}


def choices(services: list[ServiceCount], chosen: str) -> list[tuple[str, int]]:
    """Return the names of services with the number of their memories, always including the chosen service."""
    found = [(count.service or GENERAL, count.memories) for count in services]
    names = {name.lower() for name, _ in found}
    return found if not chosen or chosen.lower() in names else [*found, (chosen, 0)]


def grouped(found: list[Lesson], *, by_service: bool) -> list[tuple[str | None, list[Lesson]]]:
    """Return memories grouped by service, in order; without grouping, one group without a name."""
    if not by_service:
        return [(None, found)] if found else []
    names: dict[str, str] = {}

    def key(memory: Lesson) -> str:
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
        **status_values(operational),
    }


@router.get("/{memory_id:int}")
async def memory_page(request: Request, memories: OpenMemories, memory_id: MemoryId) -> HTMLResponse:
    """Show a memory with its history."""
    values = await memory_values(memories.operational, memory_id)
    return render(request, "memories/one.html", errors={}, **values)
