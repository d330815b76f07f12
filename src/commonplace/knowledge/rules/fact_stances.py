"""The stance of a fact on facts about the same subject: does it say the same, or contradict them? Pure.

Facts of one predicate are about one thing, so their contents decide, or the whole statements if a content is a bare
value such as "5433". Under another predicate the same words may say another thing ("likes" and "allergic to" peanuts),
so both the contents and the whole statements must agree.

Source: JDG-06.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from commonplace.judge import Judgement, Stance, find_stances
from commonplace.knowledge.model.keys import plain_key
from commonplace.language.words import tokens

LEAST_WORDS: Final = 4
"""The number of words from which a content is a sentence that makes sense on its own."""

FactStance = tuple[Stance, Judgement | None]


class Statement(Protocol):
    """A fact, as far as a comparison needs it."""

    @property
    def subject(self) -> str:
        """The person or thing."""
        ...

    @property
    def predicate(self) -> str:
        """The attribute or relation."""
        ...

    @property
    def content(self) -> str:
        """The statement."""
        ...


def fact_stances(newer: Statement, older: Sequence[Statement]) -> list[FactStance]:
    """Return the stance of a fact on each older fact about its subject, with its grounds if the two were compared.

    There are at most two comparisons for each older fact.
    """
    places = range(len(older))
    alike = {place for place in places if _have_one_predicate(newer, older[place])}
    values = [place for place in alike if not (_is_sentence(newer) and _is_sentence(older[place]))]
    sentences = [place for place in places if place not in values]
    stances = _judged(newer, older, values, _whole) | _judged(newer, older, sentences, _content)
    doubted = [place for place in places if place not in alike and stances[place][0] is not Stance.APART]
    for place, (stance, grounds) in _judged(newer, older, doubted, _whole).items():
        stances[place] = (stance if stance is stances[place][0] else Stance.APART, grounds)
    return [stances[place] for place in places]


def _judged(
    newer: Statement, older: Sequence[Statement], places: Sequence[int], text_of: Callable[[Statement], str]
) -> dict[int, FactStance]:
    """Return the stances on the older facts at some places."""
    judged = find_stances(text_of(newer), [text_of(older[place]) for place in places])
    return dict(zip(places, judged, strict=True))


def _have_one_predicate(fact: Statement, other: Statement) -> bool:
    return plain_key(fact.predicate) == plain_key(other.predicate)


def _is_sentence(fact: Statement) -> bool:
    return len(tokens(fact.content)) >= LEAST_WORDS


def _content(fact: Statement) -> str:
    return fact.content


def _whole(fact: Statement) -> str:
    return f"{fact.subject} {' '.join(fact.predicate.replace('_', ' ').split())}: {fact.content}"
