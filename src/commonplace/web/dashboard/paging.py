"""Where a reader is in a list, and the addresses of the pages around."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Query

from commonplace.web.dashboard.rendering import link
from commonplace.web.limits import MAX_OFFSET

PAGE_SIZE: Final = 50

Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET)]


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


def last_offset(total: int) -> int:
    """Return where the last page of a list begins; for an offset that lies behind its end."""
    return max(0, (total - 1) // PAGE_SIZE * PAGE_SIZE)
