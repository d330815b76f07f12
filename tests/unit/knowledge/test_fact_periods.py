"""Ends that sentences of facts name, beside a beginning that is known."""

from datetime import UTC, datetime

import pytest

from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.rules.fact_periods import with_end

pytestmark = pytest.mark.requirement("TRU-04.2")

SAID = datetime(2026, 6, 22, 8, tzinfo=UTC)
FIRST = datetime(2026, 6, 24, tzinfo=UTC)
FREEZE = "There is a change freeze from 24 June through 1 July 2026. Only urgent fixes go out."


def draft(content: str, valid_from: datetime | None = FIRST, valid_to: datetime | None = None) -> FactDraft:
    """Return the draft of a fact with a period."""
    return FactDraft(
        subject="freeze", predicate="period", content=content, valid_from=valid_from, valid_to=valid_to
    )


def test_an_end_counts_if_the_beginnings_agree() -> None:
    """It is read from the first sentence."""
    assert with_end(draft(FREEZE), SAID).valid_to == datetime(2026, 7, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "other",
    [
        draft(FREEZE, valid_from=None),
        draft(FREEZE, valid_from=datetime(2026, 6, 20, tzinfo=UTC)),
        draft(FREEZE, valid_from=datetime(2026, 8, 1, tzinfo=UTC)),
        draft(FREEZE, valid_to=datetime(2026, 6, 30, tzinfo=UTC)),
        draft("There is a change freeze."),
    ],
)
def test_other_drafts_stay(other: FactDraft) -> None:
    """Without a beginning, with another beginning, with an end, or without words for one."""
    assert with_end(other, SAID) == other
