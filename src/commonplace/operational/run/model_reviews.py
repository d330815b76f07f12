"""Decisions of a language model on doubtful pairs, after the session, in one request, within the model's budget.

The rules decide first; the model sees only the waiting pairs. If the model fails, the pairs keep waiting. Each
decision is remembered for the pair of texts, includes the model's explanation, and can be undone.
"""

import logging
from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, Field

from commonplace.core.errors import CommonplaceError, InvalidInputError, ModelError, NotFoundError
from commonplace.core.settings import Settings
from commonplace.core.text import plural
from commonplace.judge import PairVerdict
from commonplace.llm import Model, names_language_model, open_model
from commonplace.operational.model.reviews import Review
from commonplace.operational.parts.reviews import OperationalReviews
from commonplace.prompts.fence import data_notice, fence

MOST_PAIRS: Final = 20
"""Number of pairs in one request; the rest waits for the next session."""

_TASK: Final = """\
An operations agent stores observations about services. For each numbered pair below, decide how the new observation \
bears on the old one:
- same: the new text says nothing that the old text does not say.
- refines: both hold, and the new text adds a condition, an exception, a value or a second item.
- corrects: the old text no longer holds: another value, a denial, or a change (removed, fixed, moved).
- distinct: the texts speak of different things, and both hold.
If you are not sure, answer distinct. Give the reason in one sentence."""

_log = logging.getLogger(__name__)


class PairDecision(BaseModel):
    """The decision on one pair."""

    number: int
    verdict: PairVerdict
    reason: str = Field(max_length=500)


class PairDecisions(BaseModel):
    """The decisions on all pairs."""

    decisions: list[PairDecision]


async def decide_by_model(reviews: OperationalReviews, model: Model) -> list[Review]:
    """Let a model decide the waiting pairs, at most 20, and return the decided pairs.

    A pair whose decision was undone waits for a person. A failure of the model is logged and changes nothing.
    """
    waiting = [one for one in await reviews.list(limit=10 * MOST_PAIRS) if one.decided_by is None][
        :MOST_PAIRS
    ]
    if not waiting or model.extractive:
        return []
    try:
        completion = await model.complete(prompt(waiting), purpose="operational.judge", output=PairDecisions)
    except ModelError as error:
        _log.warning("%s: %s", plural(len(waiting), "doubtful pair waits", "doubtful pairs wait"), error)
        return []
    decided: list[Review] = []
    for one in completion.value.decisions:
        if not 1 <= one.number <= len(waiting):
            continue
        review = waiting[one.number - 1]
        try:
            decided.append(
                await reviews.decide(
                    review.id, one.verdict, explanation=one.reason, actor=f"model:{completion.model}"
                )
            )
        except (InvalidInputError, NotFoundError) as error:
            # Somebody else has decided the pair or deleted a memory in the meantime.
            _log.info("review %d was not decided by the model: %s", review.id, error)
    return decided


def prompt(waiting: Sequence[Review]) -> str:
    """Return the request for some pairs."""
    pairs = "\n\n".join(
        f"{number}. service: {one.service or 'general'}, category: {one.category}\n"
        f"old: {one.old_observation}\nnew: {one.new_observation}"
        for number, one in enumerate(waiting, start=1)
    )
    return "\n\n".join((_TASK, data_notice("pairs"), fence(pairs, "pairs")))


async def decide_after_session(reviews: OperationalReviews, settings: Settings) -> list[Review]:
    """Let the configured model decide the waiting pairs, if `judge` is `model` and a language model is set.

    Failures are logged, not raised, because the session is over and stored.
    """
    if settings.judge != "model" or not names_language_model(settings):
        return []
    try:
        async with open_model(settings) as model:
            return await decide_by_model(reviews, model)
    except CommonplaceError as error:
        _log.warning("doubtful pairs wait: %s", error)
        return []
