"""Periods of facts that their own words name."""

from dataclasses import replace
from datetime import datetime

from commonplace.knowledge.model.fact_drafts import PERIOD_WORDS, FactDraft
from commonplace.knowledge.rules.periods import Period, read_period


def with_period(draft: FactDraft, said_at: datetime) -> tuple[FactDraft, Period | None]:
    """Return a draft with the period that its content names, and the period; a given period is kept.

    A period that is over is returned and not set, because a search would not find the fact; see
    :func:`~commonplace.knowledge.rules.supersession.decide_supersession`.
    """
    is_given = draft.valid_from is not None or draft.valid_to is not None
    period = None if is_given or not isinstance(draft.content, str) else read_period(draft.content, said_at)  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
    if period is None or period.is_over(said_at):
        return draft, period
    return during(draft, period), period


def during(draft: FactDraft, period: Period) -> FactDraft:
    """Return a draft with a period, whose words the metadata keeps."""
    metadata = {PERIOD_WORDS: period.words, **(draft.metadata or {})}
    return replace(draft, valid_from=period.valid_from, valid_to=period.valid_to, metadata=metadata)
