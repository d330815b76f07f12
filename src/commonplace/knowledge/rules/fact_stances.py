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
    found: list[FactStance] = [(Stance.APART, None)] * len(older)
    alike = [place for place, each in enumerate(older) if _have_one_predicate(newer, each)]
    values = [place for place in alike if not (_is_sentence(newer) and _is_sentence(older[place]))]
    _judge(found, newer, older, values, _whole)
    _judge(found, newer, older, [place for place in range(len(older)) if place not in values], _content)
    doubted = [
        place for place, (stance, _) in enumerate(found) if place not in alike and stance is not Stance.APART
    ]
    by_content = list(found)
    _judge(found, newer, older, doubted, _whole)
    for place in doubted:
        if found[place][0] is not by_content[place][0]:
            found[place] = Stance.APART, found[place][1]
    return found


def _judge(
    found: list[FactStance],
    newer: Statement,
    older: Sequence[Statement],
    places: Sequence[int],
    text_of: Callable[[Statement], str],
) -> None:
    """Write the stances on some of the older facts."""
    judged = find_stances(text_of(newer), [text_of(older[place]) for place in places])
    for place, stance in zip(places, judged, strict=True):
        found[place] = stance


def _have_one_predicate(fact: Statement, other: Statement) -> bool:
    return plain_key(fact.predicate) == plain_key(other.predicate)


def _is_sentence(fact: Statement) -> bool:
    return len(tokens(fact.content)) >= LEAST_WORDS


def _content(fact: Statement) -> str:
    return fact.content


def _whole(fact: Statement) -> str:
    return f"{fact.subject} {' '.join(fact.predicate.replace('_', ' ').split())}: {fact.content}"
