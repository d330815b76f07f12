"""Where a reader is in a list, and the addresses of the pages around."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeVar

from fastapi import Query

from commonplace.web.dashboard.rendering import link
from commonplace.web.limits import MAX_OFFSET

PAGE_SIZE: Final = 50

Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]


class Counted(Protocol):
    """A page of a list that says how many the whole list holds."""

    @property
    def total(self) -> int:
        """How many the whole list holds."""
        ...


_Page = TypeVar("_Page", bound=Counted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pager:
    """A page of a list.

    Attributes:
        path: Of the list.
        query: Its filters, without the offset.
        offset: How many come before the page.
        total: How many there are in all.
    """

    path: str
    query: Mapping[str, object]
    offset: int
    total: int

    @property
    def first(self) -> int:
        """The place of the first one of the page, counted from 1."""
        return min(self.offset + 1, self.total)

    @property
    def last(self) -> int:
        """The place of the last one."""
        return min(self.offset + PAGE_SIZE, self.total)

    @property
    def previous_url(self) -> str | None:
        """The page before, if there is one."""
        return self._url(max(0, self.offset - PAGE_SIZE)) if self.offset else None

    @property
    def next_url(self) -> str | None:
        """The next page, if there is one."""
        return self._url(self.offset + PAGE_SIZE) if self.last < self.total else None

    @property
    def url(self) -> str:
        """This page."""
        return self._url(self.offset)

    def _url(self, offset: int) -> str:
        return link(self.path, **self.query, offset=offset or None)


async def page_at(read: Callable[[int], Awaitable[_Page]], offset: int) -> tuple[_Page, int]:
    """Return the page at an offset and where it begins: the last page where the offset lies behind the end.

    Args:
        read: Reads the page at an offset.
        offset: Where the reader wants to be.
    """
    page = await read(offset)
    if offset >= page.total > 0:
        offset = last_offset(page.total)
        page = await read(offset)
    return page, offset


def last_offset(total: int) -> int:
    """Return where the last page of a list begins."""
    return max(0, (total - 1) // PAGE_SIZE * PAGE_SIZE)
