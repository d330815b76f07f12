"""Periods and days that the own words of facts and rules name."""

from dataclasses import replace
from datetime import datetime

from commonplace.knowledge.model.fact_drafts import PERIOD_WORDS, FactDraft
from commonplace.knowledge.rules.periods import Period, read_period
from commonplace.language.relative_days import with_dates


def with_period(draft: FactDraft, said_at: datetime) -> tuple[FactDraft, Period | None]:
    """Return a draft with the period that its content names, and the period; a given period is kept.

    Words such as "tomorrow" in the content get their date.

    A period that is over is returned and not set, because a search would not find the fact; see
    :func:`~commonplace.knowledge.rules.supersession.decide_supersession`.
    """
    is_given = draft.valid_from is not None or draft.valid_to is not None
    if not isinstance(draft.content, str):  # pyright: ignore[reportUnnecessaryIsInstance] - from tools
        return draft, None
    period = None if is_given else read_period(draft.content, said_at)
    draft = replace(draft, content=with_dates(draft.content, said_at))
    if period is None or period.is_over(said_at):
        return draft, period
    return during(draft, period), period


def during(draft: FactDraft, period: Period) -> FactDraft:
    """Return a draft with a period, whose words the metadata keeps."""
    metadata = {PERIOD_WORDS: period.words, **(draft.metadata or {})}
    return replace(draft, valid_from=period.valid_from, valid_to=period.valid_to, metadata=metadata)
