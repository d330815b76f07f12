"""Verdicts: how a newer text relates to an older one, and how probabilities become a verdict. Pure.

Source: OPS-09.1, OPS-10.1, R-OPS-5, JDG-06.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from typing import Final

LEAST_CORRECT: Final = 0.85
"""Probability from which a new text corrects the old one.

Source of all thresholds: `python benchmarks/judge.py`, on authors from whom nothing was learned. A correction that
joins the text that it corrects costs eight times as much as two memories for one statement.
"""

LEAST_JOINED: Final = 0.85
"""Probability of a repetition or a refinement, together, from which two texts become one memory."""

MOST_CORRECT_OF_JOINED: Final = 0.08
"""Probability of a correction up to which two texts become one memory."""

LEAST_SAME: Final = 0.8
"""Share of a repetition in what joins two texts, from which the new one adds nothing: a refinement loses no word."""

LEAST_DOUBTFUL: Final = 0.25
"""Probability of a correction from which a pair that stays apart waits for review."""

LEAST_ASKED: Final = 0.06
MOST_ASKED: Final = 0.93
"""Probabilities of a correction between which a model is asked, if there is one."""


class Verdict(StrEnum):
    """Relation of a new text to an existing one."""

    SAME = "same"
    REFINE = "refine"
    CORRECT = "correct"
    DISTINCT = "distinct"
    DOUBTFUL = "doubtful"


LEARNED: Final = (Verdict.SAME, Verdict.REFINE, Verdict.CORRECT, Verdict.DISTINCT)
"""The verdicts to which the network gives probabilities, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A verdict with its grounds.

    Attributes:
        verdict: How the new text relates to the old one.
        probability: That of the verdict, 0.0 to 1.0; that of a correction if the verdict is doubtful.
        grounds: A sentence for a person without its full stop.
        between: The two verdicts between which a model may decide, if a correction is possible and not certain.
        texts: The old and the new text, whose difference the reason names; ``None`` if it names none.
    """

    verdict: Verdict
    probability: float
    grounds: str
    between: tuple[Verdict, ...] = ()
    texts: tuple[str, str] | None = None

    @property
    def reason(self) -> str:
        """A sentence for a person, which names what differs. It is written when it is read, as few are."""
        # Imported here: what reads amounts takes long to import, and most reasons are never read.
        difference: Callable[[str, str], str] = import_module("commonplace.judge.differences").difference
        differs = difference(*self.texts) if self.texts else ""
        return f"{self.grounds}: {differs}." if differs else f"{self.grounds}."


def decided(chances: Sequence[float]) -> Verdict:
    """Return the verdict for the probabilities of the four learned verdicts.

    A repetition loses the words of the new text, so in doubt the new text refines the old one. What may be a correction
    is doubtful: both texts are kept, and a person or a model is asked.
    """
    same, refine, correct, _ = chances
    if correct >= LEAST_CORRECT:
        return Verdict.CORRECT
    if same + refine >= LEAST_JOINED and correct <= MOST_CORRECT_OF_JOINED:
        return Verdict.SAME if same >= LEAST_SAME * (same + refine) else Verdict.REFINE
    return Verdict.DOUBTFUL if correct >= LEAST_DOUBTFUL else Verdict.DISTINCT


def between(chances: Sequence[float]) -> tuple[Verdict, ...]:
    """Return a correction and the likeliest other verdict, if a model should decide between them."""
    chance_of = dict(zip(LEARNED, chances, strict=True))
    correct = chance_of.pop(Verdict.CORRECT)
    if not LEAST_ASKED <= correct < MOST_ASKED:
        return ()
    return (Verdict.CORRECT, max(chance_of, key=chance_of.__getitem__))
