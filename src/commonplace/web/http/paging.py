"""Pages of lists by limit and offset: the requested part, and the envelope of the response."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

from fastapi import Depends, Query

from commonplace.core import bounds
from commonplace.web.http.shape import Shape

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="the maximum number of items on the page")]
Offset = Annotated[bounds.Offset, Query(description="the number of items to skip")]


class PageShape(Shape):
    """The position of a page in its list.

    Attributes:
        limit: the maximum number of items on a page
        offset: the number of items before the page
        next_offset: the offset of the next page; null on the last page
    """

    limit: int
    offset: int
    next_offset: int | None


class CountedPageShape(PageShape):
    """The position of a page in a list of known length.

    Attributes:
        total: the number of items that match the filters, on all pages
    """

    total: int


_Envelope = TypeVar("_Envelope", bound=PageShape)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """The requested part of a list."""

    limit: int
    offset: int

    @property
    def one_more(self) -> int:
        """The limit to read with: one item more than the page holds, to detect that another page follows."""
        return self.limit + 1

    def envelope(
        self, shape: type[_Envelope], name: str, found: Sequence[object], **values: object
    ) -> _Envelope:
        """Return the answer of a list route.

        Args:
            shape: The shape of the answer.
            name: The field of the shape that holds the items.
            found: Items from the offset on, read with :attr:`one_more`.
            values: Further fields of the shape.
        """
        follows = len(found) > self.limit
        place = {"limit": self.limit, "offset": self.offset}
        next_offset = self.offset + self.limit if follows else None
        items = found[: self.limit]
        return shape.model_validate({name: items, **place, "next_offset": next_offset, **values})


async def page(limit: Limit = DEFAULT_LIMIT, offset: Offset = 0) -> PageRequest:
    """Return the page that the query asks for."""
    return PageRequest(limit=limit, offset=offset)


WantedPage = Annotated[PageRequest, Depends(page)]
