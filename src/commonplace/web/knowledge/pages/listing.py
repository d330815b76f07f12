"""What all pages of knowledge memory share: lists that nobody counted.

Counting what a filter finds would read all of it, so these lists say where one is and whether more comes, not how
much there is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar
from uuid import UUID

from fastapi import Path, Query

from commonplace.web.dashboard.paging import PAGE_SIZE
from commonplace.web.dashboard.rendering import link

CHANGED: Final = "knowledge-changed"
"""The event by which parts of these pages refresh themselves."""

MAX_NAME_CHARS: Final = 200
ONE_MORE: Final = PAGE_SIZE + 1
"""Asked for, to know whether another page follows."""

Name = Annotated[str, Query(max_length=MAX_NAME_CHARS)]
SomeId = Annotated[UUID | None, Query()]
ItemId = Annotated[UUID, Path()]

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A page of a list whose length is not known.

    Attributes:
        path: Of the list.
        query: Its filters, without the offset.
        offset: How many come before the page.
        shown: How many stand on it.
        goes_on: Whether more follow.
    """

    path: str
    query: Mapping[str, object]
    offset: int
    shown: int
    goes_on: bool

    @property
    def first(self) -> int:
        """The place of the first one of the page, counted from 1."""
        return self.offset + 1 if self.shown else self.offset

    @property
    def last(self) -> int:
        """The place of the last one."""
        return self.offset + self.shown

    @property
    def previous_url(self) -> str | None:
        """The page before, if there is one."""
        return self._url(max(0, self.offset - PAGE_SIZE)) if self.offset else None

    @property
    def next_url(self) -> str | None:
        """The next page, if there is one."""
        return self._url(self.offset + PAGE_SIZE) if self.goes_on else None

    @property
    def url(self) -> str:
        """This page."""
        return self._url(self.offset)

    @property
    def narrows(self) -> bool:
        """Whether anything is filtered out, or skipped."""
        return bool(self.offset) or any(value not in (None, "") for value in self.query.values())

    def _url(self, offset: int) -> str:
        return link(self.path, **self.query, offset=offset or None)


def stretch(
    found: Sequence[_Row], path: str, query: Mapping[str, object], offset: int
) -> tuple[Sequence[_Row], Stretch]:
    """Return the rows of a page and where it is; ``found`` has one row more where another page follows."""
    rows = found[:PAGE_SIZE]
    return rows, Stretch(
        path=path, query=query, offset=offset, shown=len(rows), goes_on=len(found) > PAGE_SIZE
    )
