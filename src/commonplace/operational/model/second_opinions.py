"""Second opinions: a language model decides doubtful pairs after a session, within limits. Source: JDG-05, JDG-08."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from commonplace.operational.model.reviews import Review
from commonplace.storage.rows import Noun

MOST_PAIRS_A_CALL: Final = 20
"""Pairs in one call; the others wait for the next session."""

MOST_CALLS_A_DAY: Final = 50
"""Calls in 24 hours, by all processes that use the database. A session needs one call, so half-hourly sessions fit."""

MOST_PAIRS_A_DAY: Final = 200
"""Pairs in 24 hours, by all processes that use the database."""

MOST_UNDECIDED_CALLS: Final = 3
"""Answers without a decision on a pair, after which only a person decides it; it must not use up the limits."""

A_DAY: Final = timedelta(hours=24)

LIMIT_REACHED: Final = (
    f"the limit of {MOST_CALLS_A_DAY} calls and {MOST_PAIRS_A_DAY} pairs in 24 hours is reached"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionFigures(Noun):
    """The calls of 24 hours.

    Attributes:
        pairs: The pairs that a model was asked about.
        decided: Those that it decided.
        tokens: The tokens read and written, as far as the model reports them.
        took_ms: The time of all calls.
    """

    calls: int
    pairs: int
    decided: int
    tokens: int
    took_ms: int

    @property
    def pairs_left(self) -> int:
        """How many more pairs a model may be asked about."""
        return 0 if self.calls >= MOST_CALLS_A_DAY else max(0, MOST_PAIRS_A_DAY - self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionCall:
    """A call that is counted before the model is asked.

    Attributes:
        id: ``None`` if the model must not be asked.
        pairs: The pairs to ask about.
        refusal: Why the model must not be asked; empty if no pair waits.
    """

    id: int | None = None
    pairs: tuple[Review, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondOpinion:
    """The decisions of a model on the doubtful pairs after a session, and their cost.

    Attributes:
        model: The name of the model or CLI, as in the setting ``model``.
        asked: How many pairs the model was asked about.
        decided: The pairs that it decided; the others wait for a person.
        tokens: The tokens read and written; 0 if the model does not report them.
        took_s: The time of the call in seconds.
        reason: Why it was not asked, or decided nothing; empty otherwise.
    """

    model: str
    asked: int = 0
    decided: tuple[Review, ...] = ()
    tokens: int = 0
    took_s: float = 0.0
    reason: str = ""
