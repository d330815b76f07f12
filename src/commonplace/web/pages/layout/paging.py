"""Pages of lists on the dashboard: the position in a list and the addresses of the neighbouring pages."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol, TypeVar

from fastapi import Query, Request
from pydantic import BaseModel, ConfigDict

from commonplace.web.http.limits import MAX_CURSOR_CHARS
from commonplace.web.http.paging import Offset
from commonplace.web.pages.layout.rendering import link

PAGE_SIZE: Final = 50
ONE_MORE: Final = PAGE_SIZE + 1
"""The limit for reading a list of unknown length: the additional item shows that another page follows."""


class Address(BaseModel):
    """The parameters in the address of a page; an empty text counts as missing.

    An unknown parameter is an error, because without it the page would show more than the reader expects.
    """

    model_config = ConfigDict(str_strip_whitespace=True, extra="forbid")


class ListFilters(Address):
    """The filters of a list.

    A field is named like the parameter of the function that reads the list; its alias is the name in the address.
    """

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


END: Final = "end"
"""The cursor of the last page of a list, which is read backwards."""

Cursor = Annotated[str, Query(max_length=MAX_CURSOR_CHARS)]


class CursorFilters(ListFilters):
    """The filters of a list whose pages begin after an item or end before it.

    The offset is the number of items before the page, for the reader; 0 if it is not known.
    """

    after: Cursor = ""
    before: Cursor = ""
    reverse: bool = False

    @property
    def query(self) -> dict[str, Any]:
        """The filters as the address names them, without the position of the page."""
        place = {"offset", "after", "before"}
        return self.model_dump(by_alias=True, exclude=place) | {"reverse": "true" if self.reverse else ""}


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
    def end_url(self) -> str | None:
        """The address of the last page, if the list goes on and its pages have cursors."""
        return None

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
        """The address of the previous page, if there is one."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorPager(Pager):
    """The position of a page in a list with cursors.

    Attributes:
        after: The cursor that the page begins after.
        before: The cursor that the page ends before.
        next_cursor: The cursor of the last item, if another page follows.
        previous_cursor: The cursor of the first item, if another page is before.
    """

    after: str
    before: str
    next_cursor: str | None
    previous_cursor: str | None

    @property
    def previous_url(self) -> str | None:
        """The address of the previous page, if there is one."""
        if self.previous_cursor is None:
            return None
        return self._place(before=self.previous_cursor, offset=max(0, self.offset - PAGE_SIZE))

    @property
    def next_url(self) -> str | None:
        """The address of the next page, if there is one."""
        if self.next_cursor is None:
            return None
        return self._place(after=self.next_cursor, offset=self.last if self._is_counted else 0)

    @property
    def end_url(self) -> str | None:
        """The address of the last page, if another page follows."""
        return self._place(before=END) if self.goes_on else None

    @property
    def url(self) -> str:
        """The address of this page."""
        return self._place(after=self.after, before=self.before, offset=self.offset)

    @property
    def first(self) -> int:
        """The position of the first item of the page, counted from 1; 0 if it is not known."""
        return self.offset + bool(self.shown) if self._is_counted else 0

    @property
    def narrows(self) -> bool:
        """Whether a filter or the position of the page leaves items out."""
        return bool(self.after or self.before or self.offset) or any(
            value not in (None, "") for value in self.query.values()
        )

    @property
    def _is_counted(self) -> bool:
        """Whether the number of items before the page is known."""
        return bool(self.offset) or not (self.after or self.before)

    def _place(self, *, after: str = "", before: str = "", offset: int = 0) -> str:
        return link(self.path, **self.query, after=after, before=before, offset=offset or None)


def counted_pager(path: str, query: Mapping[str, object], *, offset: int, total: int) -> Pager:
    """Return the pager of a list of known length; an offset past the end gives the last page."""
    if offset >= total:
        offset = max(0, (total - 1) // PAGE_SIZE * PAGE_SIZE)
    shown = min(PAGE_SIZE, total - offset)
    goes_on = offset + shown < total
    return Pager(path=path, query=query, offset=offset, shown=shown, goes_on=goes_on, total=total)


async def read_page(
    request: Request, wanted: ListFilters, read: Callable[..., Awaitable[_Page]]
) -> tuple[_Page, Pager]:
    """Return a page of a counted list with its pager; an offset past the end gives the last page.

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
    request: Request, wanted: ListFilters, read: Callable[..., Awaitable[Sequence[_Item]]]
) -> tuple[Sequence[_Item], Pager]:
    """Return a page of a list of unknown length with its pager; see :func:`read_page` for the arguments."""
    found = await read(**wanted.given, limit=ONE_MORE, offset=wanted.offset)
    items, goes_on = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    path, query = request.url.path, wanted.query
    return items, Pager(path=path, query=query, offset=wanted.offset, shown=len(items), goes_on=goes_on)


async def read_at_cursor(
    request: Request,
    wanted: CursorFilters,
    read: Callable[..., Awaitable[Sequence[_Item]]],
    cursor: Callable[[_Item], str],
) -> tuple[Sequence[_Item], Pager]:
    """Return a page of a list with cursors, with its pager.

    Args:
        request: Its path is that of the list.
        wanted: The filters and the position of the page.
        read: Reads the list, given the filters that are set, ``limit``, ``reverse``, ``after`` and ``offset``.
        cursor: Returns the cursor of an item.
    """
    backwards = bool(wanted.before)
    start = wanted.before if backwards else wanted.after
    found = await read(
        **wanted.given,
        limit=ONE_MORE,
        reverse=wanted.reverse is not backwards,
        after=None if start in ("", END) else start,
        offset=0 if start else wanted.offset,
    )
    items, more = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    if backwards:
        items = items[::-1]
    follows = wanted.before != END if backwards else more
    comes_after = more if backwards else bool(wanted.after or wanted.offset)
    return items, CursorPager(
        path=request.url.path,
        query=wanted.query,
        offset=wanted.offset,
        shown=len(items),
        goes_on=follows,
        after=wanted.after,
        before=wanted.before,
        next_cursor=cursor(items[-1]) if follows and items else None,
        previous_cursor=cursor(items[0]) if comes_after and items else None,
    )
