"""Token counts by purpose, and the daily token budget."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date
from types import MappingProxyType
from typing import Any

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import ModelBudgetError
from commonplace.core.settings import variable_of
from commonplace.llm.backend import Usage
from commonplace.llm.day_file import DayFile

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Counts of one purpose since the process started.

    Args:
        answers: Answers, valid or not; each answer used tokens.
        unavailable: Attempts that found the model unable to answer.
        failures: Calls that ended without a usable answer.
        cost_usd: The price of the answers with a known price.
        unpriced: Answers without a known price.
    """

    answers: int = 0
    unavailable: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


class Ledger:
    """Counts usage for metrics and for the daily budget.

    Args:
        daily_tokens: Tokens allowed per day, input and output together, over all purposes; 0 for no limit.
        clock: Gives the day, its UTC date.
        day_file: The usage of all processes of this machine; ``None`` counts only this process.
        always_shared: Whether to write the day file even without a limit.
        setting: The variable that sets ``daily_tokens``.
    """

    def __init__(
        self,
        *,
        daily_tokens: int = 0,
        clock: Clock = utc_now,
        day_file: DayFile | None = None,
        always_shared: bool = False,
        setting: str = variable_of("model_daily_tokens"),
    ) -> None:
        self._daily_tokens = daily_tokens
        self._setting = setting
        self._clock = clock
        self._day_file = day_file if daily_tokens or always_shared else None
        self._totals: dict[str, Totals] = {}
        self._day: date | None = None
        self._spent = 0

    @property
    def totals(self) -> Mapping[str, Totals]:
        """The current counts by purpose."""
        return MappingProxyType(dict(self._totals))

    @property
    def daily_tokens(self) -> int:
        """Tokens allowed per day; 0 for no limit."""
        return self._daily_tokens

    @property
    def spent_today(self) -> int:
        """Tokens used since midnight UTC: by this process, or, with a limit, by all processes of this machine."""
        today = self._today()
        if self._day_file is None:
            return self._spent
        try:
            return max(self._spent, self._day_file.total(today))
        except OSError as error:
            _log.warning("cannot read today's tokens of other processes; only this process counts: %s", error)
            return self._spent

    @property
    def cost_today_usd(self) -> float | None:
        """The price of today's answers by all processes that share the day file, as far as it is known.

        ``None`` if no price is known.
        """
        try:
            return 0.0 if self._day_file is None else self._day_file.cost_usd(self._today())
        except OSError as error:
            _log.warning("cannot read today's cost: %s", error)
            return 0.0

    def require_budget(self) -> None:
        """Check that tokens are left. Running calls are not stopped, so they can exceed the limit.

        Raises:
            ModelBudgetError: No tokens are left.
        """
        if self._daily_tokens and (spent := self.spent_today) >= self._daily_tokens:
            raise ModelBudgetError(spent, self._daily_tokens, self._setting)

    def add_answer(self, purpose: str, usage: Usage) -> None:
        """Count an answer."""
        self._add(
            purpose,
            answers=1,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=usage.cost_usd or 0.0,
            unpriced=usage.cost_usd is None,
        )
        today = self._today()
        self._spent += usage.tokens
        if self._day_file is not None and usage.tokens:
            try:
                self._day_file.add(today, usage.tokens, cost_usd=usage.cost_usd)
            except OSError as error:
                _log.warning("cannot write today's tokens for other processes: %s", error)

    def add_unavailable(self, purpose: str) -> None:
        """Count an attempt that found the model unable to answer."""
        self._add(purpose, unavailable=1)

    def add_failure(self, purpose: str) -> None:
        """Count a call that ended without a usable answer."""
        self._add(purpose, failures=1)

    def _add(self, purpose: str, **more: float) -> None:
        before = self._totals.get(purpose, Totals())
        sums: dict[str, Any] = {name: getattr(before, name) + added for name, added in more.items()}
        self._totals[purpose] = replace(before, **sums)

    def _today(self) -> date:
        today = self._clock().astimezone(UTC).date()
        if today != self._day:
            self._day, self._spent = today, 0
        return today
