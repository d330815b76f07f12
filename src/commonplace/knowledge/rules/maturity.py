"""Maturity of rules: pure arithmetic over feedback, in which harm counts four times (KNW-03, KNW-21)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from commonplace.core.text import collapse_whitespace
from commonplace.knowledge.model.maturity import Maturity

HARM_WEIGHT: Final = 4
_SMOOTHING: Final = 0.01

ESTABLISHED_SUCCESSES: Final = 5
ESTABLISHED_EFFECTIVENESS: Final = 0.6
PROVEN_SUCCESSES: Final = 15
PROVEN_EFFECTIVENESS: Final = 0.8
PROVEN_AGE: Final = timedelta(days=30)
INVERSION_HARMS: Final = 3
INVERSION_EFFECTIVENESS: Final = 0.3

NO_REASON: Final = "no reason was given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The counts of a rule's feedback, and the state that follows from them.

    Attributes:
        maturity: The state.
        effectiveness: 0.0 to 1.0, by the formula of the last feedback.
        applied: Helpful and harmful applications together.
        successes: Helpful applications.
        harms: Harmful applications.
    """

    maturity: Maturity
    effectiveness: float
    applied: int
    successes: int
    harms: int

    @property
    def needs_inversion(self) -> bool:
        """Whether the rule did so much harm that its opposite is the better rule. Source: KNW-03.5."""
        return (
            self.maturity is not Maturity.ANTI_PATTERN
            and self.harms >= INVERSION_HARMS
            and self.effectiveness < INVERSION_EFFECTIVENESS
        )


def after_helpful(standing: Standing, *, age: timedelta) -> Standing:
    """Return the standing after one more success, promoted by one state if it qualifies.

    Args:
        standing: The standing before.
        age: The time since the rule was stored.

    Source: KNW-21.1, KNW-03.1, KNW-03.2.
    """
    applied, successes = standing.applied + 1, standing.successes + 1
    marked = rated(replace(standing, applied=applied, successes=successes), is_helpful=True)
    return replace(marked, maturity=_promoted(marked, age))


def after_harmful(standing: Standing) -> Standing:
    """Return the standing after one more harm, demoted by one state if it no longer qualifies.

    Source: KNW-21.2, KNW-03.3, KNW-03.4.
    """
    counted = replace(standing, applied=standing.applied + 1, harms=standing.harms + 1)
    marked = rated(counted, is_helpful=False)
    return replace(marked, maturity=_demoted(marked))


def rated(standing: Standing, *, is_helpful: bool) -> Standing:
    """Return the standing with the effectiveness of its counts, by the formula of the last feedback."""
    successes = standing.successes
    if is_helpful:
        return replace(standing, effectiveness=successes / standing.applied)
    return replace(
        standing, effectiveness=successes / (successes + HARM_WEIGHT * standing.harms + _SMOOTHING)
    )


def _promoted(standing: Standing, age: timedelta) -> Maturity:
    if (
        standing.maturity is Maturity.CANDIDATE
        and standing.successes >= ESTABLISHED_SUCCESSES
        and standing.effectiveness >= ESTABLISHED_EFFECTIVENESS
    ):
        return Maturity.ESTABLISHED
    if (
        standing.maturity is Maturity.ESTABLISHED
        and standing.successes >= PROVEN_SUCCESSES
        and standing.effectiveness >= PROVEN_EFFECTIVENESS
        and age >= PROVEN_AGE
    ):
        return Maturity.PROVEN
    return standing.maturity


def _demoted(standing: Standing) -> Maturity:
    if standing.maturity is Maturity.PROVEN and standing.effectiveness < PROVEN_EFFECTIVENESS:
        return Maturity.ESTABLISHED
    if standing.maturity is Maturity.ESTABLISHED and standing.effectiveness < ESTABLISHED_EFFECTIVENESS:
        return Maturity.CANDIDATE
    return standing.maturity


def distinct_reasons(reasons: Sequence[str]) -> list[str]:
    """Return the reasons in order, without repeats that differ only in case, spaces or a final full stop."""
    return list(
        {collapse_whitespace(each).casefold().rstrip("."): each for each in reversed(reasons)}.values()
    )[::-1]


def anti_pattern_text(original: str, reasons: list[str]) -> str:
    """Return the text of an inverted rule, in the specification's words.

    Args:
        original: The text of the rule.
        reasons: The reasons for the harmful marks, oldest first; may be empty.

    Source: KNW-03.5.
    """
    why = "; ".join(distinct_reasons(reasons)) or NO_REASON
    return f"ANTI-PATTERN: Do NOT {original}. This caused problems because: {why}"
