"""The items of an import that say in other words what a memory says.

Facts about one subject, rules of one scope, lessons of one service and category, and notes are compared, each with the
three that share most words with it. Items of one import are not compared with each other, so that an empty home gets
every wording of an export.

Source: JDG-06.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from commonplace.core.sources import RANKS, Source
from commonplace.judge import Stance, find_stances
from commonplace.knowledge import FactDraft, RuleDraft, fact_stances
from commonplace.language.words import content_words
from commonplace.services.transfer.items import TEXT_FIELD, Item, OperationalItem, WorkspaceItem, kind_of

MOST_COMPARED: Final = 3
"""The maximum number of memories that an item is compared with."""

MOST_OF_IMPORT: Final = 2_000
"""The maximum number of comparisons of an import, which take ten to twenty seconds; items after them are new."""

MOST_WITH: Final = 300
"""A word that more texts of a group have says nothing about which are near."""

_Key = tuple[object, ...]


class KnownTexts:
    """The texts of the memories that were there before an import.

    Args:
        trust: Returns how far an item will be trusted.
    """

    def __init__(self, trust: Callable[[FactDraft | RuleDraft], Source]) -> None:
        self._trust = trust
        self._shelves = defaultdict[_Key, _TextShelf](_TextShelf)
        self._left = MOST_OF_IMPORT

    def add(self, item: Item) -> None:
        """Add a memory."""
        key = _shelf_key(item)
        if key is not None:
            self._shelves[key].add(item)

    def repeated(self, item: Item) -> Item | None:
        """Return the memory that says the same and is at least as trusted; ``None`` if there is none."""
        key = _shelf_key(item)
        near = (
            []
            if key is None or not self._left
            else self._shelves[key].nearest(item, min(MOST_COMPARED, self._left))
        )
        near = [each for each in near if self._is_trusted_as(each, item)]
        self._left -= len(near)
        return next(
            (each for each, stance in zip(near, _stances(item, near), strict=True) if stance is Stance.SAME),
            None,
        )

    def _is_trusted_as(self, known: Item, item: Item) -> bool:
        if not isinstance(known, FactDraft | RuleDraft) or not isinstance(item, FactDraft | RuleDraft):
            return True
        return RANKS[Source(known.source or Source.PERSON)] >= RANKS[self._trust(item)]


class _TextShelf:
    """Items that are compared with one another, by their words."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._sizes: list[int] = []
        self._with = defaultdict[str, list[int]](list)

    def add(self, item: Item) -> None:
        words = content_words(_text(item))
        for word in words:
            self._with[word].append(len(self._items))
        self._items.append(item)
        self._sizes.append(len(words))

    def nearest(self, item: Item, most: int) -> list[Item]:
        """Return the items that share the largest part of their words with an item, largest first."""
        words = content_words(_text(item))
        rare = [places for word in words if len(places := self._with.get(word, ())) <= MOST_WITH]
        shared = Counter(place for places in rare for place in places)
        shares = sorted(
            (-2 * count / (len(words) + self._sizes[place]), place) for place, count in shared.items()
        )
        return [self._items[place] for _, place in shares[:most]]


def _shelf_key(item: Item) -> _Key | None:
    """Return the key that is equal for items that are compared; ``None`` for an item that is not compared."""
    match item:
        case FactDraft(valid_to=None):
            return "fact", item.scope, item.subject.casefold()
        case RuleDraft():
            return "rule", item.scope
        case OperationalItem():
            return "operational", item.category, item.service
        case WorkspaceItem():
            return ("workspace",)
        case _:
            return None


def _text(item: Item) -> str:
    text: str = getattr(item, TEXT_FIELD[kind_of(item)])
    return f"{item.predicate.replace('_', ' ')} {text}" if isinstance(item, FactDraft) else text


def _stances(item: Item, near: Sequence[Item]) -> list[Stance]:
    if isinstance(item, FactDraft):
        judged = fact_stances(item, [each for each in near if isinstance(each, FactDraft)])
    else:
        judged = find_stances(_text(item), [_text(each) for each in near])
    return [stance for stance, _ in judged]
