"""Pages of lists on the dashboard: the position in a list and the addresses of the pages around."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from commonplace.web.dashboard.rendering import link
from commonplace.web.paging import Offset

PAGE_SIZE: Final = 50
ONE_MORE: Final = PAGE_SIZE + 1
"""The limit to read a list of unknown length with: the additional item shows that another page follows."""


class Filters(BaseModel):
    """The filters of a list, read from the address of its page; an empty text filters nothing.

    A field is named like the parameter of the function that reads the list; its alias is the name in the address. An
    unknown name is an error, because the list would be longer than the reader expects.
    """

    model_config = ConfigDict(str_strip_whitespace=True, extra="forbid")

    offset: Offset = 0

    @property
    def query(self) -> dict[str, Any]:
        """The filters as the address names them, without the offset."""
        return self.model_dump(by_alias=True, exclude={"offset"})

    def url_of(self, path: str, **changed: object) -> str:
        """Return the address of the first page of a list with other filters."""
        return link(path, **self.query | changed)

    @property
    def given(self) -> dict[str, Any]:
        """The filters that are set, as arguments of the function that reads the list."""
        return present(**self.model_dump(exclude={"offset"}))


def present(**values: object) -> dict[str, Any]:
    """Return the values that are neither ``None`` nor an empty text."""
    return {name: value for name, value in values.items() if value not in (None, "")}


class Counted(Protocol):
    """A page of a list that knows the length of the list."""

    @property
    def total(self) -> int:
        """The number of items in the whole list."""
        ...


_Page = TypeVar("_Page", bound=Counted)
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pager:
    """The position of a page in a list.

    Attributes:
        path: The path of the list.
        query: The filters of the list, without the offset.
        offset: The number of items before the page.
        shown: The number of items on the page.
        goes_on: Whether another page follows.
        total: The number of items in the list; ``None`` if they were not counted.
    """

    path: str
    query: Mapping[str, object]
    offset: int
    shown: int
    goes_on: bool
    total: int | None = None

    @property
    def first(self) -> int:
        """The position of the first item of the page, counted from 1."""
        return self.offset + 1 if self.shown else self.offset

    @property
    def last(self) -> int:
        """The position of the last item of the page."""
        return self.offset + self.shown

    @property
    def previous_url(self) -> str | None:
        """The address of the page before, if there is one."""
        return self._url(max(0, self.offset - PAGE_SIZE)) if self.offset else None

    @property
    def next_url(self) -> str | None:
        """The address of the next page, if there is one."""
        return self._url(self.offset + PAGE_SIZE) if self.goes_on else None

    @property
    def url(self) -> str:
        """The address of this page."""
        return self._url(self.offset)

    @property
    def narrows(self) -> bool:
        """Whether a filter or the offset leaves items out."""
        return bool(self.offset) or any(value not in (None, "") for value in self.query.values())

    def _url(self, offset: int) -> str:
        return link(self.path, **self.query, offset=offset or None)


def counted_pager(path: str, query: Mapping[str, object], *, offset: int, total: int) -> Pager:
    """Return the pager of a list of known length, on its last page if the offset lies behind the end."""
    if offset >= total:
        offset = max(0, (total - 1) // PAGE_SIZE * PAGE_SIZE)
    shown = min(PAGE_SIZE, total - offset)
    goes_on = offset + shown < total
    return Pager(path=path, query=query, offset=offset, shown=shown, goes_on=goes_on, total=total)


async def read_page(
    request: Request, wanted: Filters, read: Callable[..., Awaitable[_Page]]
) -> tuple[_Page, Pager]:
    """Return a page of a counted list with its pager, and the last page if the offset lies behind the end.

    Args:
        request: Its path is that of the list.
        wanted: The filters and the offset of the request.
        read: Reads the page, given the filters that are set, ``limit`` and ``offset``.
    """
    page = await read(**wanted.given, limit=PAGE_SIZE, offset=wanted.offset)
    pager = counted_pager(request.url.path, wanted.query, offset=wanted.offset, total=page.total)
    if pager.offset != wanted.offset:
        page = await read(**wanted.given, limit=PAGE_SIZE, offset=pager.offset)
    return page, pager


async def cut_page(
    request: Request, wanted: Filters, read: Callable[..., Awaitable[Sequence[_Item]]]
) -> tuple[Sequence[_Item], Pager]:
    """Return a page of a list of unknown length with its pager; see :func:`read_page` for the arguments."""
    found = await read(**wanted.given, limit=ONE_MORE, offset=wanted.offset)
    items, goes_on = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    path, query = request.url.path, wanted.query
    return items, Pager(path=path, query=query, offset=wanted.offset, shown=len(items), goes_on=goes_on)
