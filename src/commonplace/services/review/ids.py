"""The grammar of item ids: how they are read and written, and the verdicts that fit each kind.

======================  ====================  =====================================================================
id                      kind                  item
======================  ====================  =====================================================================
``7``                   observations          a pair of observations of operational memory
``k7``                  facts                 a fact and the important fact that it replaced
``f:3k7q2+f:9x2vd``     duplicate             two facts that may say the same; ``r:`` for rules
``r:3k7q2-r:9x2vd``     opposed               two rules that contradict each other; also ``f:`` and ``w:``
``f:3k7q2+n:4h1tz``     subject               a fact and the entity that its subject may refer to
``f:3k7q2``, ``r:4b2``  memory                a fact or rule to confirm or forget
``e:5c7d9``             episode               an episode whose consolidation failed
``o:12``, ``a:7``,      quarantined           an operational, app or workspace memory that looks like an instruction
``w:2``
======================  ====================  =====================================================================
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Self
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import short_id
from commonplace.services.review.items import ReviewVerdict

FORMS: Final = (
    "a number, k and a number, a short id such as f:3k7q2, two short ids such as w:1-w:2, f:3k7q2+f:9x2vd or "
    "f:3k7q2+n:4h1tz, or the id of a flagged memory such as o:12"
)
"""The forms of ids, in words."""

_MEMORY_TYPES: Final = {"f": "fact", "r": "rule", "e": "episode"}


class ItemKind(StrEnum):
    """A kind of item, by the form of its id."""

    OBSERVATIONS = "observations"
    FACTS = "facts"
    DUPLICATE = "duplicate"
    OPPOSED = "opposed"
    SUBJECT = "subject"
    MEMORY = "memory"
    EPISODE = "episode"
    QUARANTINED = "quarantined"


_OF_PAIR: Final = (ReviewVerdict.SAME, ReviewVerdict.REFINES, ReviewVerdict.CORRECTS, ReviewVerdict.DISTINCT)
_OF_TWINS: Final = (ReviewVerdict.SAME, ReviewVerdict.DISTINCT)
_OF_MEMORY: Final = (ReviewVerdict.CONFIRM, ReviewVerdict.FORGET)

VERDICTS: Final[Mapping[ItemKind, tuple[ReviewVerdict, ...]]] = {
    ItemKind.OBSERVATIONS: _OF_PAIR,
    ItemKind.FACTS: _OF_PAIR,
    ItemKind.DUPLICATE: _OF_TWINS,
    ItemKind.OPPOSED: _OF_PAIR,
    ItemKind.SUBJECT: _OF_TWINS,
    ItemKind.MEMORY: _OF_MEMORY,
    ItemKind.EPISODE: (ReviewVerdict.RETRY, ReviewVerdict.FORGET),
    ItemKind.QUARANTINED: _OF_MEMORY,
}
"""The verdicts that fit each kind, in the order in which doors show them."""

_NUMBER: Final = r"[1-9][0-9]{0,17}"
_SHORT: Final = r"[0-9a-z]{4,25}"
_UUID: Final = r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
_SHORT_OR_NOTE: Final = rf"(?:(?:m-)?{_NUMBER}|{_SHORT})"
_GRAMMAR: Final = {
    kind: re.compile(form)
    for kind, form in {
        ItemKind.OBSERVATIONS: rf"(?P<first>{_NUMBER})",
        ItemKind.FACTS: rf"k(?P<first>{_NUMBER})",
        ItemKind.DUPLICATE: rf"(?P<first>([fr]):{_SHORT})\+(?P<second>\2:{_SHORT})",
        ItemKind.OPPOSED: rf"(?P<first>([frw]):{_SHORT_OR_NOTE})-(?P<second>\2:{_SHORT_OR_NOTE})",
        ItemKind.SUBJECT: rf"(?P<first>f:{_SHORT})\+(?P<second>n:{_SHORT}|{_UUID})",
        ItemKind.MEMORY: rf"(?P<first>[fr]:{_SHORT})",
        ItemKind.EPISODE: rf"(?P<first>e:{_SHORT})",
        ItemKind.QUARANTINED: rf"(?P<first>[oaw]:(?:m-)?{_NUMBER})",
    }.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemId:
    """The id of an item; ``str`` writes it.

    Attributes:
        first: The number of a pair, the short id of a memory, or the letter and id of a memory in quarantine.
        second: The id of the newer memory or of the entity; empty for other kinds.
    """

    kind: ItemKind
    first: str
    second: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an id; case and surrounding spaces do not matter.

        Raises:
            InvalidInputError: The text is no id; the message lists the forms.
        """
        plain = text.strip().lower()
        for kind, form in _GRAMMAR.items():
            match = form.fullmatch(plain)
            if match is not None:
                second = (match.groupdict().get("second") or "").replace(":m-", ":")
                if kind is ItemKind.SUBJECT and ":" not in second:
                    second = short_id("entity", UUID(second))
                return cls(kind=kind, first=match["first"].replace(":m-", ":"), second=second)
        raise InvalidInputError("id", FORMS, text)

    def __str__(self) -> str:
        """Return the id as doors show it and as :meth:`parse` reads it."""
        letter = "k" if self.kind is ItemKind.FACTS else ""
        between = "-" if self.kind is ItemKind.OPPOSED else "+"
        return f"{letter}{self.first}{between if self.second else ''}{self.second}"

    @property
    def verdicts(self) -> tuple[ReviewVerdict, ...]:
        """The verdicts that fit the item."""
        return VERDICTS[self.kind]

    @property
    def number(self) -> int:
        """The number of a pair of observations or facts."""
        return int(self.first)

    @property
    def memory_type(self) -> str:
        """The type of the memory that a short id names: fact, rule or episode."""
        return _MEMORY_TYPES[self.first[0]]

    @property
    def is_of_notes(self) -> bool:
        """Whether the item is a pair of notes."""
        return self.kind is ItemKind.OPPOSED and self.first.startswith("w:")

    def can_undo(self, verdict: ReviewVerdict) -> bool:
        """Return whether a decision can be undone.

        Nothing restores a forgotten episode, or a decision about a memory in quarantine.
        """
        if self.kind is ItemKind.QUARANTINED:
            return False
        return self.kind is not ItemKind.EPISODE or verdict is not ReviewVerdict.FORGET


def quarantined_id(letter: Literal["o", "a", "w"], memory_id: object) -> ItemId:
    """Return the id of a memory of operational (o), app (a) or workspace (w) memory in quarantine."""
    return ItemId(kind=ItemKind.QUARANTINED, first=f"{letter}:{str(memory_id).removeprefix('m-')}")
