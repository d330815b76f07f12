"""Reading an observation: clauses of content words with poles, names, quantities, orders and state changes.

Reading is the slow part of a judgement, so readings are cached by text; comparing two readings is fast.

Source: R-OPS-5.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from commonplace.judge import lexicon
from commonplace.judge.changes import stated_changes
from commonplace.judge.lexicon import BREAKS, CIRCUMSTANCES, COPULAS, EARLIER, LATER
from commonplace.judge.quantities import Bound, Dimension, Quantity
from commonplace.judge.quantity_reading import extract
from commonplace.judge.words import fold, tokenise
from commonplace.language.ideas import LIGHT_WEIGHT, NEGATORS, STOPWORDS, idea_of, word_set
from commonplace.language.stems import stem

PREDICATE: Final = "is"
"""The opener of words after a form of "to be" or "to have"."""

_Part: TypeAlias = "str | Quantity"

_MOST_ORDERS: Final = 8
"""Further orders of a text are not compared, so that a list of steps does not take quadratic time."""

_AUXILIARIES: Final = COPULAS | word_set("must can cannot should may never not do does did")
_VERSIONED: Final = frozenset({"port", "version", "release", "v"})
_ROLES: Final = {"from": "from", "to": "to", "into": "to"}
_STOPS: Final = frozenset({";", ".", ":", "(", "--", "-"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A part of a reading: its position, the number of its clause, and the word that attaches it.

    ``opener`` is empty for the claim itself and `PREDICATE` after a copula.
    """

    place: int
    clause: int
    opener: str

    @property
    def is_attached(self) -> bool:
        """Whether a preposition or a similar word attaches the word: "with a GPU"."""
        return self.opener not in {"", PREDICATE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word(Placed):
    """A content word; ``pole`` is -1 for the negative word of two opposed ones, ``role`` is "from", "to" or empty."""

    concept: str
    pole: int
    weight: float
    text: str
    conditional: bool
    role: str

    @property
    def is_heavy(self) -> bool:
        """Whether two texts differ if only one of them has the word."""
        return self.weight > LIGHT_WEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Placed):
    """The mark that distinguishes two things of a kind: the 2 of "camera 2", the a of "db-a"."""

    label: str
    mark: str

    @property
    def text(self) -> str:
        """The name as readers write it."""
        return f"{self.label} {self.mark}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount(Placed):
    """A quantity that describes the subject."""

    quantity: Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A "before" or "after" between two sets of concepts and amounts; with pole 1, the left set comes first."""

    pole: int
    left: frozenset[str]
    right: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A text as the judge reads it.

    ``tokens`` is the text without case and spacing. ``subject`` has the places of words and names before the verb of
    their clause. ``negators`` invert their clause; ``changes`` maps state changes to their wording.
    """

    tokens: tuple[str, ...]
    subject: frozenset[int]
    words: tuple[Word, ...]
    names: tuple[Name, ...]
    amounts: tuple[Amount, ...]
    negators: tuple[Name, ...]
    orders: tuple[Order, ...]
    changes: Mapping[str, str]


@lru_cache(maxsize=4096)
def read(text: str, service: str | None = None) -> Reading:
    """Read an observation; never raises an error, and takes time linear in the length of the text.

    Args:
        text: The observation.
        service: The service of the observation; its name carries little weight.
    """
    folded = fold(text)
    tokens = tokenise(folded)
    parts = extract(tokens)
    own = frozenset(stem(word) for word in re.split(r"\W", (service or "").casefold()))
    reader = _Reader(parts=parts, own=own)
    for place, part in enumerate(parts):
        reader.take(place, part)
    named = (*reader.words, *reader.names)
    return Reading(
        tokens=tokens,
        subject=frozenset(part.place for part in named if part.place < reader.verbs.get(part.clause, 0)),
        words=tuple(reader.words),
        names=tuple(reader.names),
        amounts=tuple(reader.amounts),
        negators=tuple(reader.negators),
        orders=_orders(parts, reader.words, reader.names),
        changes=stated_changes(folded),
    )


@dataclass(slots=True, kw_only=True)
class _Reader:
    """A walk over the parts of a text that tracks the clause, its opener and the noun before a number."""

    parts: Sequence[_Part]
    own: frozenset[str]
    words: list[Word] = field(default_factory=list[Word])
    names: list[Name] = field(default_factory=list[Name])
    amounts: list[Amount] = field(default_factory=list[Amount])
    negators: list[Name] = field(default_factory=list[Name])
    clause: int = 0
    opener: str = ""
    role: str = ""
    conditional: bool = False
    noun: str = ""
    verbs: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, place: int, part: _Part) -> None:
        behind = self._token(place + 1)
        if isinstance(part, str) and (part == ":" or _is_verb(part)) and behind not in _AUXILIARIES:
            self.verbs.setdefault(self.clause, place)
        if part in COPULAS and behind == "the":
            # "db-a is the primary" has the value before the verb.
            self.verbs[self.clause] = 0
        if isinstance(part, Quantity):
            self._take_quantity(place, part)
        elif part.startswith("#") or self._is_letter(place, part):
            self.names.append(self._mark(place, stem(self.noun) if self.noun else "", part.lstrip("#")))
        elif part in BREAKS:
            self._open_clause(part, conditional=False)
        else:
            self._take_word(place, part)

    def _take_quantity(self, place: int, quantity: Quantity) -> None:
        label = self._identified(place, quantity)
        if label:
            self.names.append(self._mark(place, label, quantity.name or f"{quantity.low:g}"))
            return
        if quantity.denied:
            self.negators.append(self._mark(place, "", "not"))
        self.amounts.append(Amount(place=place, clause=self.clause, opener=self.opener, quantity=quantity))

    def _mark(self, place: int, label: str, mark: str) -> Name:
        return Name(place=place, clause=self.clause, opener=self.opener, label=label, mark=mark)

    def _take_word(self, place: int, part: str) -> None:
        if part in CIRCUMSTANCES or part in LATER or part in EARLIER:
            self._open_clause(part, conditional=part in CIRCUMSTANCES)
        elif part in lexicon.JOINTS:
            self.opener = part
            self.role = _ROLES.get(part, "")
        elif part in COPULAS and not self.conditional:
            self.opener = PREDICATE
        if part in NEGATORS:
            self.negators.append(self._mark(place, "", part))
        idea = idea_of(part)
        if idea is None:
            self.noun = self.noun if part in {"a", "an", "the"} else ""
            return
        self.noun = part
        word = Word(
            place=place,
            clause=self.clause,
            opener=self.opener,
            concept=idea.concept,
            pole=idea.pole,
            weight=LIGHT_WEIGHT if idea.concept in self.own else idea.weight,
            text=part,
            conditional=self.conditional,
            role=self.role,
        )
        self.words.append(word)

    def _open_clause(self, opener: str, *, conditional: bool) -> None:
        self.clause, self.opener, self.role, self.conditional = self.clause + 1, opener, "", conditional

    def _token(self, place: int) -> str:
        part = self.parts[place] if 0 <= place < len(self.parts) else ""
        return part if isinstance(part, str) else ""

    def _is_letter(self, place: int, part: str) -> bool:
        before = self._token(place - 1)
        is_mark = len(part) == 1 and part.isalpha() and part not in {"a", "i"}
        return is_mark and len(before) > 1 and before.isalpha() and before not in STOPWORDS

    def _identified(self, place: int, quantity: Quantity) -> str:
        """Return the stem of the noun that a number identifies, or an empty string for an amount."""
        bounded = quantity.bound is not Bound.NONE or quantity.low != quantity.high
        if quantity.hedged or quantity.denied or bounded:
            return ""
        behind = self._token(place + 1)
        if quantity.kind is Dimension.ORDINAL:
            label = "" if behind in BREAKS else behind
        elif quantity.label in _VERSIONED or quantity.kind is Dimension.VERSION:
            label = "" if place else quantity.label or "version"
        elif quantity.kind is not Dimension.NUMBER or quantity.label:
            label = quantity.label
        else:
            label = self._numbered(place, quantity, behind)
        return stem(label) if label else ""

    def _numbered(self, place: int, quantity: Quantity, behind: str) -> str:
        before = self._token(place - 1)
        if not self.noun or before != self.noun:
            # "The 3.9 image has no pip".
            return behind if place <= 1 and before in {"the", ""} and "." in quantity.text else ""
        # "Loop 3 oscillates", but not "Keep 3 snapshots".
        third_word = place < len(("Exit", "code", "3"))
        is_noun = not before.endswith("s") and before not in lexicon.IMPERATIVES
        return before if behind in COPULAS or (third_word and is_noun and _is_verb(behind)) else ""


def _is_verb(part: str) -> bool:
    return part in _AUXILIARIES or (part.endswith("s") and part != "times" and idea_of(part) is not None)


def _orders(parts: Sequence[_Part], words: Sequence[Word], names: Sequence[Name]) -> tuple[Order, ...]:
    found: list[Order] = []
    marked = [
        *((word.place, word.concept) for word in words),
        *((name.place, f"#{name.mark}") for name in names),
    ]
    places = [at for at, part in enumerate(parts) if part in EARLIER or part in LATER]
    for place in places[:_MOST_ORDERS]:
        ends = next((at for at in range(place + 1, len(parts)) if parts[at] in BREAKS), len(parts))
        begins = next((at for at in range(place - 1, -1, -1) if parts[at] in _STOPS), -1)
        # A circumstance before the claim relates to the text after its comma.
        left = _marks(parts, marked, begins, place) or _marks(parts, marked, ends, len(parts))
        right = _marks(parts, marked, place, ends)
        if left and right:
            found.append(Order(pole=1 if parts[place] in EARLIER else -1, left=left, right=right))
    return tuple(found)


def _marks(
    parts: Sequence[_Part], marked: Sequence[tuple[int, str]], after: int, before: int
) -> frozenset[str]:
    """Return the concepts, names and amounts between two positions."""
    amounts = {f"{part.low:g}" for part in parts[after + 1 : before] if isinstance(part, Quantity)}
    return frozenset(amounts.union(mark for place, mark in marked if after < place < before))
