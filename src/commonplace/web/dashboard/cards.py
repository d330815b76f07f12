"""Cards of the overview: each reads one memory, and none can take the page down with it.

A card is a template in ``templates/cards/`` and a function that reads its values. Cards are read side by side; one
that fails, or takes too long, shows a line that says so. A card of a memory that may be slow, or still opening, is
``apart``: the page comes without it, and the card then loads itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request

from commonplace.core.errors import CommonplaceError

TIMEOUT_S: Final = 2.0

log = logging.getLogger(__name__)

Reader = Callable[[Request], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A part of the overview.

    Attributes:
        title: Its heading.
        template: What shows it; gets what ``read`` returns.
        read: Reads the values for one request; see :mod:`commonplace.web.access` for the memories.
        url: The page that shows more; nothing where there is none.
        more: What the link there is called.
        key: The name in the address that it loads itself from; only for a card that is ``apart``.
        every_s: How often a card that is apart refreshes itself.
        timeout_s: How long it may take to read it.
        is_starting: Tells whether the memory behind it is still opening, so that no answer is no fault.
    """

    title: str
    template: str
    read: Reader
    url: str
    more: str = "All"
    key: str = ""
    every_s: int = 15
    timeout_s: float = TIMEOUT_S
    is_starting: Callable[[Request], bool] | None = None

    @property
    def apart(self) -> bool:
        """Whether the page comes without it, and it loads itself."""
        return bool(self.key)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCard:
    """A card with its values, or with why there are none, or with neither where it loads itself."""

    card: Card
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    error: str = ""
    is_starting: bool = False


async def read_cards(cards: Sequence[Card], request: Request) -> list[ReadCard]:
    """Return the cards with their values, in their order; those that are apart are not read."""
    return list(await asyncio.gather(*(_read_unless_apart(card, request) for card in cards)))


async def read_card(card: Card, request: Request) -> ReadCard:
    """Return a card with its values, apart or not."""
    try:
        async with asyncio.timeout(card.timeout_s):
            return ReadCard(card=card, values=await card.read(request))
    except TimeoutError:
        if card.is_starting is not None and card.is_starting(request):
            return ReadCard(card=card, is_starting=True)
        return ReadCard(card=card, error=f"no answer within {card.timeout_s:g} s")
    except CommonplaceError as error:
        log.error("the card %r of the overview: %s", card.title, error)  # noqa: TRY400 - a line is enough
        return ReadCard(card=card, error=str(error))


async def _read_unless_apart(card: Card, request: Request) -> ReadCard:
    return ReadCard(card=card) if card.apart else await read_card(card, request)
