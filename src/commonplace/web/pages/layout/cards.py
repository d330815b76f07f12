"""Cards of the overview; each reads one memory, and a failing card does not affect the others.

A card is a template in ``templates/cards/`` and a function that reads its values. Cards are read concurrently; a card
that fails or takes too long shows an error line. A card of a memory that may be slow or still opening is ``apart``:
the page includes the card if its values arrive within :data:`FIRST_S`; otherwise the card loads itself later.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request

from commonplace.core.errors import CommonplaceError, StorageUnavailableError

TIMEOUT_S: Final = 2.0
FIRST_S: Final = 0.2
"""The time that a page waits for cards that are apart."""

log = logging.getLogger(__name__)

Reader = Callable[[Request], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A part of the overview.

    Attributes:
        title: Its heading.
        template: Its template; gets the values of ``read``.
        read: Reads the values for one request; see :mod:`commonplace.web.http.access` for the memories.
        url: The page that shows more.
        more: The text of the link to that page.
        key: The name in the card's own address; only for a card that is ``apart``.
        every_s: The refresh interval of a card that is apart; 0 if it reloads only with the overview.
        timeout_s: The time limit for reading the values.
        hides_empty: Whether the overview leaves the card out if there is nothing to show: no values and no error.
        is_starting: Returns whether the memory is still opening; a timeout is then not an error.
    """

    title: str
    template: str
    read: Reader
    url: str
    more: str = "All"
    key: str = ""
    every_s: int = 0
    timeout_s: float = TIMEOUT_S
    hides_empty: bool = False
    is_starting: Callable[[Request], bool] | None = None

    @property
    def apart(self) -> bool:
        """Whether the card loads itself after the page."""
        return bool(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCard:
    """A card with its values or an error; a late card has neither and loads itself."""

    card: Card
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    is_starting: bool = False
    is_late: bool = False

    @property
    def is_hidden(self) -> bool:
        """Whether the overview leaves the card out."""
        return self.card.hides_empty and not self.values and not self.error


async def read_cards(cards: Sequence[Card], request: Request, *, first_s: float = FIRST_S) -> list[ReadCard]:
    """Return the cards with their values, in order; cards that are apart are late after ``first_s`` seconds."""
    return list(await asyncio.gather(*(_read_in_time(card, request, first_s) for card in cards)))


async def read_card(card: Card, request: Request) -> ReadCard:
    """Return a card with its values, even if it is apart."""
    try:
        async with asyncio.timeout(card.timeout_s):
            return ReadCard(card=card, values=await card.read(request))
    except TimeoutError:
        if card.is_starting is not None and card.is_starting(request):
            return ReadCard(card=card, is_starting=True)
        return ReadCard(card=card, error=f"no answer within {card.timeout_s:g} s")
    except CommonplaceError as error:
        log.error("the card %r of the overview: %s", card.title, error)  # noqa: TRY400 - a line is enough
        # The health card says which database failed and why.
        is_down = isinstance(error, StorageUnavailableError)
        return ReadCard(card=card, error="the database does not answer" if is_down else str(error))


async def _read_in_time(card: Card, request: Request, first_s: float) -> ReadCard:
    if not card.apart:
        return await read_card(card, request)
    if first_s and not (card.is_starting and card.is_starting(request)):
        try:
            async with asyncio.timeout(first_s):
                return await read_card(card, request)
        except TimeoutError:
            pass
    return ReadCard(card=card, is_late=True)
