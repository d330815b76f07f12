"""Polarity: which ideas an observation affirms and which it denies.

A word has a pole of its own ("fails" is the negative pole of success) and a negator turns the idea that it governs,
which is the next word that means something: "never fails" affirms success. Where no word follows, it is the one
before ("Redis: no"). A second negator cancels the first in "cannot start without the
database" and in "does not start if the database is not running".

Source: R-OPS-5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from commonplace.operational.judge.lexicon import (
    ABSENCE,
    CLAUSE_OPENERS,
    LIGHT,
    LIGHT_IDEAS,
    NAMES,
    NEGATORS,
    OPPOSED,
    SAME,
    SECOND_NEGATORS,
    STOPWORDS,
)
from commonplace.operational.judge.words import stem

NEGATION_REACH: Final = 8
"""Tokens within which a second negator cancels the first."""

NAME_WEIGHT: Final = 1.5
LIGHT_WEIGHT: Final = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """What a word stands for: a concept, the pole that it names (1 or -1), and how much it says (0.25 to 1.5)."""

    concept: str
    pole: int = 1
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word that means something, at its place among the parts of an observation.

    ``pole`` is that of the idea after negation; ``text`` is what the agent wrote, with its negator; ``near`` is what
    stands around it.
    """

    concept: str
    pole: int
    weight: float
    token: str
    text: str
    place: int
    near: frozenset[str] = frozenset()
    negated: bool = False
    opens_condition: bool = False

    def turned(self) -> "Word":
        """Return the word with the other pole."""
        return replace(self, pole=-self.pole)


@cache
def _vocabulary() -> Mapping[str, Idea]:
    """Return the ideas of the vocabulary by word."""
    ideas = {word: Idea(concept=stem(word), weight=LIGHT_WEIGHT) for word in LIGHT}
    ideas |= {name: Idea(concept=name, weight=NAME_WEIGHT) for name in NAMES}
    for row in SAME:
        first, *_ = names = row.split()
        idea = ideas.get(first, Idea(concept=stem(first)))
        ideas |= dict.fromkeys(names, idea)
    for concept, positive, negative in OPPOSED:
        weight = LIGHT_WEIGHT if concept in LIGHT_IDEAS else 1.0
        ideas |= dict.fromkeys(positive.split(), Idea(concept=concept, pole=1, weight=weight))
        ideas |= dict.fromkeys(negative.split(), Idea(concept=concept, pole=-1, weight=weight))
    return ideas


@cache
def _by_stem() -> Mapping[str, Idea]:
    """Return the ideas by stem; where two words share one ("use", "useful") the shorter has it."""
    words = _vocabulary()
    return {stem(word): words[word] for word in sorted(words, key=len, reverse=True)}


def idea_of(token: str) -> Idea | None:
    """Return what a lower-case token stands for; ``None`` for a word that never decides."""
    if token in STOPWORDS or not any(char.isalnum() for char in token):
        return None
    key = stem(token)
    own = Idea(concept=key, weight=NAME_WEIGHT if _is_identifier(token) else 1.0)
    return _vocabulary().get(token) or _by_stem().get(key, own)


def is_known(concept: str) -> bool:
    """Tell whether a concept comes from the vocabulary, and so is no misspelling of another."""
    return concept in _known_concepts()


@cache
def _known_concepts() -> frozenset[str]:
    return frozenset(idea.concept for idea in _vocabulary().values())


def _is_identifier(token: str) -> bool:
    return "_" in token or any(char.isdigit() for char in token)


def ideas_with_poles(tokens: Sequence[str | None], conditions: frozenset[str]) -> list[Word]:
    """Read the words of an observation.

    Args:
        tokens: The tokens in order; ``None`` where a quantity stands.
        conditions: The tokens that open a circumstance.

    Returns:
        The words that mean something, in order, with negation applied. Linear in the number of tokens.
    """
    words: list[Word] = []
    negator, opens = "", False
    negated_at = clause_at = -NEGATION_REACH
    for place, token in enumerate(tokens):
        if token is None:
            continue
        if token in NEGATORS:
            second = token in SECOND_NEGATORS or clause_at > negated_at
            cancels = second and place - negated_at < NEGATION_REACH
            if cancels:
                words[-NEGATION_REACH:] = [_affirmed(word, negated_at) for word in words[-NEGATION_REACH:]]
            negator, negated_at = ("", -NEGATION_REACH) if cancels else ("" if negator else token, place)
            continue
        clause_at = place if token in CLAUSE_OPENERS else clause_at
        opens |= token in conditions
        idea = idea_of(token)
        if idea is None:
            continue
        if idea.concept in ABSENCE and idea.pole < 0 and clause_at > negated_at > place - NEGATION_REACH:
            # "Does not start when the database is down" is "starts with the database up".
            words[-NEGATION_REACH:] = [_affirmed(word, negated_at) for word in words[-NEGATION_REACH:]]
            idea, negated_at = replace(idea, pole=1), -NEGATION_REACH
        words.append(_word(idea, token, place, negator=negator, opens_condition=opens))
        negator, opens = "", False
    if negator and words:
        words[-1] = _denied(words[-1], negator)
    return words


def _word(idea: Idea, token: str, place: int, *, negator: str, opens_condition: bool) -> Word:
    word = Word(
        concept=idea.concept,
        pole=idea.pole,
        weight=idea.weight,
        token=token,
        text=token,
        place=place,
        opens_condition=opens_condition,
    )
    return _denied(word, negator) if negator else word


def _denied(word: Word, negator: str) -> Word:
    return replace(word, pole=-word.pole, text=f"{negator} {word.text}", negated=True)


def _affirmed(word: Word, since: int) -> Word:
    if not word.negated or word.place < since:
        return word
    return replace(word, pole=-word.pole, text=word.token, negated=False)
