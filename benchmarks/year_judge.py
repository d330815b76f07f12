"""Judge what memories say about a question of the year: right, outdated, unknown or wrong. Pure.

The first line that holds words of a right, an older or a mistaken answer decides; a line with a right answer is right,
whatever else it holds. A question about nothing is right if no line holds the words of a mistaken answer.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from year_data import NOTHING, YearQuestion, says

FIRST_RESULTS = 5


class Verdict(StrEnum):
    """What a reader of the lines would answer."""

    RIGHT = "right"
    OUTDATED = "outdated"
    UNKNOWN = "unknown"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The verdicts of one question.

    Attributes:
        block: The verdict of the blocks that a prompt gets without asking.
        search: The verdict of the first results of a search.
    """

    question: YearQuestion
    block: Verdict
    search: Verdict

    @property
    def verdict(self) -> Verdict:
        """The verdict of the block, or of the search if the block says nothing.

        A search always lists the nearest memories, so of a question about nothing the block alone decides.
        """
        if self.question.asks == NOTHING or self.block is not Verdict.UNKNOWN:
            return self.block
        return self.search


def judge_lines(question: YearQuestion, lines: Iterable[str]) -> Verdict:
    """Return the verdict of lines in their order."""
    for line in lines:
        verdict = _verdict_of(question, [line])
        if verdict is not Verdict.UNKNOWN:
            return verdict
    return Verdict.RIGHT if question.asks == NOTHING else Verdict.UNKNOWN


def judge_results(question: YearQuestion, texts: Sequence[str]) -> Verdict:
    """Return the verdict of the first results of a search; the best line of a result counts for all of its lines."""
    for text in texts[:FIRST_RESULTS]:
        verdict = _verdict_of(question, text.splitlines())
        if verdict is not Verdict.UNKNOWN:
            return verdict
    return Verdict.RIGHT if question.asks == NOTHING else Verdict.UNKNOWN


def _verdict_of(question: YearQuestion, lines: Sequence[str]) -> Verdict:
    kinds = (
        (Verdict.RIGHT, question.accepted),
        (Verdict.OUTDATED, question.outdated),
        (Verdict.WRONG, question.wrong),
    )
    for verdict, alternatives in kinds:
        if any(says(line, alternatives) for line in lines):
            return verdict
    return Verdict.UNKNOWN
