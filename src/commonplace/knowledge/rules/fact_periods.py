"""Periods and days that the own words of facts and rules name."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Final

from commonplace.knowledge.model.fact_drafts import PERIOD_WORDS, FactDraft
from commonplace.knowledge.rules.periods import Period, read_period
from commonplace.language.relative_days import with_dates

_SENTENCE_END: Final = re.compile(r"(?<=[a-z0-9)][.!])\s+(?=[A-Z])")


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


def with_end(draft: FactDraft, said_at: datetime) -> FactDraft:
    """Return a draft that has a beginning and no end with the end that its first sentence names.

    The end counts only if the sentence names the same beginning, or none: a wrong end hides a fact.
    """
    begins = draft.valid_from
    if not isinstance(begins, datetime) or draft.valid_to is not None:
        return draft
    period = read_period(_SENTENCE_END.split(draft.content, maxsplit=1)[0], said_at)
    if period is None or period.valid_to is None or period.valid_to <= begins:
        return draft
    agrees = period.valid_from is None or period.valid_from.date() == begins.date()
    return replace(draft, valid_to=period.valid_to) if agrees else draft


def during(draft: FactDraft, period: Period) -> FactDraft:
    """Return a draft with a period, whose words the metadata keeps."""
    metadata = {PERIOD_WORDS: period.words, **(draft.metadata or {})}
    return replace(draft, valid_from=period.valid_from, valid_to=period.valid_to, metadata=metadata)
