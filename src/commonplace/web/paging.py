"""Lists that come a page at a time, by limit and offset."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Query
from pydantic import Field

from commonplace.web.limits import MAX_OFFSET
from commonplace.web.shape import Shape

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="at most this many")]
Offset = Annotated[int, Query(ge=0, le=MAX_OFFSET, description="leave out this many from the beginning")]


class PageShape(Shape):
    """Where a page of a list is."""

    limit: int = Field(description="at most this many are on a page")
    offset: int = Field(description="this many come before the page")
    next_offset: int | None = Field(description="the offset of the next page; null on the last")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Which part of a list is wanted."""

    limit: int
    offset: int

    @property
    def one_more(self) -> int:
        """The limit that also shows whether a page follows."""
        return self.limit + 1

    def next_offset(self, found: int) -> int | None:
        """Return where the next page begins, given how many were found of :attr:`one_more`."""
        return self.offset + self.limit if found > self.limit else None


def page(limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> Page:
    """Read which page is wanted."""
    return Page(limit=limit, offset=offset)


WantedPage = Annotated[Page, Depends(page)]
