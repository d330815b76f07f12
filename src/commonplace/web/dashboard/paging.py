"""Pages of lists on the dashboard: the position in a list and the addresses of the pages around."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from commonplace.web.dashboard.rendering import link

PAGE_SIZE: Final = 50
ONE_MORE: Final = PAGE_SIZE + 1
"""The limit to read a list of unknown length with: the additional item shows that another page follows."""


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
        total: The number of items in the list; ``None`` if nobody counted them.
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
    read: Callable[[int], Awaitable[_Page]], path: str, query: Mapping[str, object], offset: int
) -> tuple[_Page, Pager]:
    """Return a page of a counted list with its pager, and the last page if the offset lies behind the end.

    Args:
        read: Reads the page at an offset.
        path: The path of the list.
        query: The filters of the list.
        offset: The offset that the request asks for.
    """
    page = await read(offset)
    pager = counted_pager(path, query, offset=offset, total=page.total)
    return (page if pager.offset == offset else await read(pager.offset)), pager


def cut_page(
    found: Sequence[_Item], path: str, query: Mapping[str, object], offset: int
) -> tuple[Sequence[_Item], Pager]:
    """Return the items of a page with its pager, given what was read with :data:`ONE_MORE`."""
    items = found[:PAGE_SIZE]
    goes_on = len(found) > PAGE_SIZE
    return items, Pager(path=path, query=query, offset=offset, shown=len(items), goes_on=goes_on)
