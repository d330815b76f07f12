"""The second opinion: after a session, a language model decides the doubtful pairs, in one call.

The judge decides first; the model sees only the pairs that wait. It has no tools, and reads the texts as data: each
pair is one line of JSON inside a fence. A model that fails, is interrupted or gives no decision leaves its pairs
waiting. Each decision is remembered for the two texts, includes the model's explanation, and can be undone.

Source: JDG-05, JDG-08.
"""

import asyncio
import json
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field

from commonplace.core.errors import (
    CommonplaceError,
    InvalidInputError,
    ModelAccessError,
    ModelBudgetError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    NotFoundError,
    StorageError,
)
from commonplace.core.settings import Settings
from commonplace.judge import PairVerdict
from commonplace.llm import Completion, Model, cli_of, names_language_model, open_cli_model, open_model
from commonplace.operational.memory import OperationalMemory
from commonplace.operational.model.reviews import Review
from commonplace.operational.model.second_opinions import OpinionCall, SecondOpinion
from commonplace.operational.parts.reviews import OperationalReviews
from commonplace.operational.run.agent import RunRequest
from commonplace.operational.run.processes import MARK_VARIABLE
from commonplace.operational.run.schedule import Stop
from commonplace.prompts.fence import data_notice, fence

PURPOSE: Final = "operational.judge"
"""The name of the call in the model's ledger."""

DATABASE_S: Final = 30.0
"""Seconds that the command waits for the database, besides the time limit of the model."""

INTERRUPTED: Final = "the operator ended it"

_TOKENS_A_PAIR: Final = 200
_TOKENS_BESIDES: Final = 1_000
"""The longest answer, with room for what a model thinks before it decides."""

_MODEL_OPTION: Final = "--model"

_TASK: Final = """\
An operations agent stores observations about services. Each line below is a pair of two observations of one service, \
as JSON. For each pair, decide how the new observation bears on the old one:
- same: the new text says nothing that the old text does not say.
- refines: both hold, and the new text adds a condition, an exception, a value or a second item.
- corrects: the old text no longer holds: another value, a denial, or a change (removed, fixed, moved).
- distinct: the texts speak of different things, and both hold.
If you are not sure, answer distinct. Give the reason in one sentence. Decide each number once."""

log = logging.getLogger(__name__)


class PairDecision(BaseModel):
    """The decision on one pair."""

    number: int
    verdict: PairVerdict
    reason: str = Field(max_length=500)


class PairDecisions(BaseModel):
    """The decisions on all pairs."""

    decisions: list[PairDecision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adviser:
    """The model that gives second opinions: the CLI that ran the session, or the model of the settings.

    Attributes:
        executable: The CLI that ran the session; ``None`` for the model of the settings.
        model: The model that the CLI was started with; ``None`` for the default of the account.
        environ: The environment of the CLI, with the keys and addresses of a model.
    """

    settings: Settings
    executable: Path | None = None
    model: str | None = None
    environ: Mapping[str, str]

    def open(self) -> AbstractAsyncContextManager[Model]:
        """Open the model for a block.

        Raises:
            SettingsError: A program, an extra or a key is missing.
        """
        if self.executable is None:
            return open_model(self.settings, environ=self.environ)
        return open_cli_model(self.settings, self.executable, model=self.model, environ=self.environ)

    @property
    def name(self) -> str:
        """The name of the model, without that of its CLI's model."""
        return (self.executable and cli_of(self.executable)) or str(self.settings.model)

    def marked(self, mark: str) -> "Adviser":
        """Return the adviser with the mark of a run in its environment; see :mod:`.processes`."""
        return replace(self, environ={**self.environ, MARK_VARIABLE: mark})


def configured_adviser(settings: Settings, environ: Mapping[str, str] | None = None) -> Adviser | None:
    """Return the model of the settings as adviser; ``None`` if the settings name no language model."""
    if not names_language_model(settings):
        return None
    return Adviser(settings=settings, environ=os.environ if environ is None else environ)


def session_adviser(settings: Settings, request: RunRequest) -> Adviser | None:
    """Return who decides doubtful pairs after a session, by the setting ``judge``; ``None`` if nobody does.

    A program that is none of the known CLIs may read its arguments in another way, so it is not asked.
    """
    if settings.judge == "review":
        return None
    if settings.judge == "session" and cli_of(request.executable) is not None:
        return Adviser(
            settings=settings,
            executable=request.executable,
            model=_model_of(request.arguments),
            environ=request.environ,
        )
    return configured_adviser(settings, request.environ)


def _model_of(arguments: Sequence[str]) -> str | None:
    """Return the model that the arguments of a CLI name, or ``None``."""
    for argument in arguments:
        if argument.startswith(f"{_MODEL_OPTION}="):
            return argument.partition("=")[2] or None
    return next((model for option, model in pairwise(arguments) if option == _MODEL_OPTION), None)


async def ask_second_opinion(
    memory: OperationalMemory, adviser: Adviser, *, stop: Stop | None = None, limited: bool = True
) -> SecondOpinion | None:
    """Let an adviser decide the waiting pairs; see :func:`ask_model`.

    Failures are in the answer, not raised, because the session is over and stored.
    """
    try:
        async with asyncio.timeout(adviser.settings.model_timeout_s + DATABASE_S), adviser.open() as model:
            return await ask_model(memory, model, stop=stop, limited=limited)
    except TimeoutError:
        return SecondOpinion(model=adviser.name, reason="the database did not answer in time")
    except (CommonplaceError, OSError) as error:
        return SecondOpinion(model=adviser.name, reason=str(error))
    except Exception as error:
        log.exception("the second opinion failed")
        return SecondOpinion(model=adviser.name, reason=repr(error))


async def ask_model(
    memory: OperationalMemory, model: Model, *, stop: Stop | None = None, limited: bool = True
) -> SecondOpinion | None:
    """Let a model decide the waiting pairs, at most 20, within the limits of 24 hours.

    Args:
        memory: The memory with the pairs.
        model: A language model.
        stop: Interrupts the call.
        limited: Whether the limits hold; a person who asks for it may exceed them.

    Returns:
        The decisions, or the reason why there are none; ``None`` if no pair waits.

    Raises:
        StorageError: The database cannot be reached or written.
    """
    refusal = _budget_refusal(model)
    call = await memory.second_opinions.begin(model.name, limited=limited, refusal=refusal)
    if not call.pairs:
        return SecondOpinion(model=model.name, reason=call.refusal) if call.refusal else None
    return await _asked(memory, model, call, stop or Stop())


def _budget_refusal(model: Model) -> str:
    try:
        model.ledger.require_budget()
    except ModelBudgetError as error:
        return str(error)
    return ""


async def _asked(memory: OperationalMemory, model: Model, call: OpinionCall, stop: Stop) -> SecondOpinion:
    began = time.monotonic()
    reason, decided, is_answered = "", list[Review](), True
    try:
        completion = await stop.interrupts(_completion(model, call.pairs))
        if completion is None:
            reason, is_answered = INTERRUPTED, False
        else:
            async for review in _decided(memory.reviews, call.pairs, completion):
                decided.append(review)
    except (ModelError, StorageError) as error:
        reason, is_answered = str(error), _is_answer(error)
    used = model.ledger.totals.get(PURPOSE)
    opinion = SecondOpinion(
        model=model.name,
        asked=len(call.pairs),
        decided=tuple(decided),
        tokens=used.input_tokens + used.output_tokens if used else 0,
        took_s=round(time.monotonic() - began, 3),
        reason=reason,
    )
    await memory.second_opinions.end(call, opinion, is_answered=is_answered)
    return opinion


def _is_answer(error: CommonplaceError) -> bool:
    """Return whether an error says something about the pairs, not about the model's or the database's state."""
    return isinstance(error, ModelOutputError | ModelRefusedError) and not isinstance(error, ModelAccessError)


async def _completion(model: Model, pairs: Sequence[Review]) -> Completion[PairDecisions]:
    return await model.complete(
        prompt(pairs),
        purpose=PURPOSE,
        output=PairDecisions,
        max_output_tokens=_TOKENS_BESIDES + _TOKENS_A_PAIR * len(pairs),
    )


async def _decided(
    reviews: OperationalReviews, pairs: Sequence[Review], completion: Completion[PairDecisions]
) -> AsyncGenerator[Review]:
    """Apply the decisions and yield the decided pairs; two decisions on one pair are none."""
    decisions = completion.value.decisions
    times = Counter(each.number for each in decisions)
    for one in decisions:
        if times[one.number] != 1 or not 1 <= one.number <= len(pairs):
            continue
        review, actor = pairs[one.number - 1], f"model:{completion.model}"
        try:
            yield await reviews.decide(review.id, one.verdict, explanation=one.reason, actor=actor)
        except (InvalidInputError, NotFoundError) as error:
            # Somebody else has decided the pair or deleted a memory in the meantime.
            log.info("review %d was not decided by the model: %s", review.id, error)


def prompt(pairs: Sequence[Review]) -> str:
    """Return the request for some pairs; no text of a pair can look like another pair."""
    lines = (
        json.dumps(
            {
                "number": number,
                "service": each.service or "general",
                "category": each.category,
                "old": " ".join(each.old_observation.split()),
                "new": " ".join(each.new_observation.split()),
            },
            ensure_ascii=False,
        )
        for number, each in enumerate(pairs, start=1)
    )
    return "\n\n".join((_TASK, data_notice("pairs"), fence("\n".join(lines), "pairs")))
