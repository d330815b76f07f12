"""Second opinions on doubtful pairs: which pairs a model may be asked about, and what its calls cost."""

from pathlib import Path
from typing import Final

from commonplace.core.clock import Clock
from commonplace.core.quarantine import Quarantine
from commonplace.operational.model.reviews import Review
from commonplace.operational.model.second_opinions import (
    LIMIT_REACHED,
    MOST_PAIRS_A_CALL,
    MOST_UNDECIDED_CALLS,
    OpinionCall,
    OpinionFigures,
    SecondOpinion,
)
from commonplace.operational.store import second_opinions
from commonplace.operational.store.statements import OperationalStatements
from commonplace.storage.clock_guard import ClockGuard
from commonplace.storage.store import Store

_LOCK: Final = "operational:second opinion"
_LOOKED_AT: Final = 10 * MOST_PAIRS_A_CALL
_NO_LIMIT: Final = 1 << 30


class OperationalSecondOpinions:
    """Counts the calls of a model about doubtful pairs, and limits them."""

    def __init__(
        self, store: Store[OperationalStatements], quarantine: Quarantine, clock: Clock, home: Path | None
    ) -> None:
        self._store = store
        self._quarantine = quarantine
        self._clock = clock
        self._home = home

    async def figures(self) -> OpinionFigures:
        """Return the number and cost of the calls of the last 24 hours."""
        async with self._store.reading() as sql:
            return await second_opinions.figures(sql, self._store.now())

    async def refusal(self) -> str:
        """Return why no model may be asked now; empty if one may be."""
        async with self._store.reading() as sql:
            return await self._refusal(sql)

    async def begin(self, model: str, *, limited: bool = True, refusal: str = "") -> OpinionCall:
        """Count a call about the waiting pairs before the model is asked, so that a killed call counts too.

        A pair with a memory in quarantine is never among them: its text looks like an instruction.

        Args:
            model: The name of the model.
            limited: Whether the limits of 24 hours, and of the calls about one pair, hold; a person may exceed them.
            refusal: Why the model cannot be asked, if the caller knows a reason.
        """
        async with self._store.writing(lock=_LOCK) as sql:
            most_calls = MOST_UNDECIDED_CALLS if limited else _NO_LIMIT
            reviews = await second_opinions.pairs(sql, most_calls=most_calls, limit=_LOOKED_AT)
            pairs = [each for each in reviews if not self._is_held(each)]
            if not pairs:
                return OpinionCall()
            if refusal := refusal or (limited and await self._refusal(sql)) or "":
                return OpinionCall(refusal=refusal)
            now = self._store.now()
            left = (await second_opinions.figures(sql, now)).pairs_left if limited else MOST_PAIRS_A_CALL
            pairs = pairs[: min(left, MOST_PAIRS_A_CALL)]
            call_id = await second_opinions.begin(sql, model, pairs, now)
        return OpinionCall(id=call_id, pairs=tuple(pairs))

    async def end(self, call: OpinionCall, opinion: SecondOpinion, *, is_answered: bool) -> None:
        """Store the result of a call.

        Args:
            call: The call.
            opinion: The decisions and the cost.
            is_answered: Whether the model answered, or refused to answer. Another call about the same pairs may then
                decide nothing either.
        """
        async with self._store.writing() as sql:
            await second_opinions.end(sql, call, opinion, is_answered=is_answered)

    def _is_held(self, review: Review) -> bool:
        return any(map(self._quarantine.holds, (review.old_observation, review.new_observation)))

    async def _refusal(self, sql: OperationalStatements) -> str:
        if self._home is not None and (fault := ClockGuard(self._home, clock=self._clock).fault()):
            return fault
        figures = await second_opinions.figures(sql, self._store.now())
        return "" if figures.pairs_left else LIMIT_REACHED
