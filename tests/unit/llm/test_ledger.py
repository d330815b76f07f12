"""Usage by purpose, and the budget of a day."""

import logging
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ModelBudgetError
from commonplace.llm.backend import Usage
from commonplace.llm.day_file import DayFile
from commonplace.llm.ledger import Ledger, Totals

counts = st.integers(0, 10_000)
usages = st.builds(
    Usage, input_tokens=counts, output_tokens=counts, cost_usd=st.one_of(st.none(), st.integers(0, 100))
)
TODAY = date(2026, 3, 1)


@given(st.lists(st.tuples(st.sampled_from(["digest", "compact"]), usages)))
def test_totals_are_the_sums_of_their_purpose(answers: list[tuple[str, Usage]]) -> None:
    """Nothing is counted under another purpose, and an unknown price is not taken for none."""
    ledger = Ledger()
    for purpose, usage in answers:
        ledger.add_answer(purpose, usage)
    for purpose, totals in ledger.totals.items():
        own = [usage for name, usage in answers if name == purpose]
        assert totals == Totals(
            answers=len(own),
            input_tokens=sum(usage.input_tokens for usage in own),
            output_tokens=sum(usage.output_tokens for usage in own),
            cost_usd=sum(usage.cost_usd or 0 for usage in own),
            unpriced=sum(usage.cost_usd is None for usage in own),
        )
    assert set(ledger.totals) == {purpose for purpose, _ in answers}
    assert ledger.spent_today == sum(usage.tokens for _, usage in answers)


def test_a_sum_with_an_unknown_price_has_none() -> None:
    """Half a price would look like a whole one."""
    assert (Usage(input_tokens=1, cost_usd=0.5) + Usage(output_tokens=2, cost_usd=None)) == Usage(
        input_tokens=1, output_tokens=2, cost_usd=None
    )


def test_the_budget_holds_until_midnight_utc() -> None:
    """The day is that of UTC, whatever the zone of the clock."""
    clock = ManualClock(datetime(2026, 3, 1, 18, 0, tzinfo=timezone(-timedelta(hours=5))))
    ledger = Ledger(daily_tokens=100, clock=clock)
    ledger.add_answer("digest", Usage(input_tokens=90, output_tokens=10))
    with pytest.raises(ModelBudgetError, match="100 tokens a day is spent") as caught:
        ledger.require_budget()
    assert (caught.value.spent, caught.value.limit) == (100, 100)
    clock.advance(minutes=59)
    with pytest.raises(ModelBudgetError):
        ledger.require_budget()
    clock.advance(minutes=1)
    ledger.require_budget()
    assert ledger.spent_today == 0


def test_processes_of_one_machine_share_the_budget(tmp_path: Path) -> None:
    """A command that runs every minute does not begin anew every minute."""
    clock = ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    one, other = (
        Ledger(daily_tokens=100, clock=clock, day_file=DayFile(tmp_path / "tokens")) for _ in range(2)
    )
    one.add_answer("digest", Usage(input_tokens=60))
    other.require_budget()
    other.add_answer("digest", Usage(input_tokens=40))
    with pytest.raises(ModelBudgetError):
        one.require_budget()


def test_the_cost_of_a_day_is_that_of_all_processes(tmp_path: Path) -> None:
    """As far as prices are known; tomorrow nothing was spent."""
    clock = ManualClock(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
    one, other = (
        Ledger(clock=clock, day_file=DayFile(tmp_path / "tokens"), always_shared=True) for _ in range(2)
    )
    one.add_answer("digest", Usage(input_tokens=40, cost_usd=None))
    assert (other.spent_today, other.cost_today_usd) == (40, None)
    one.add_answer("digest", Usage(input_tokens=60, cost_usd=0.02))
    other.add_answer("digest", Usage(input_tokens=1, cost_usd=0.5))
    assert (one.spent_today, one.cost_today_usd) == (101, pytest.approx(0.52))
    clock.advance(days=1)
    assert (one.spent_today, one.cost_today_usd) == (0, 0)


def test_without_a_limit_nothing_is_written(tmp_path: Path) -> None:
    """Only a budget needs to know of other processes."""
    ledger = Ledger(day_file=DayFile(tmp_path / "tokens"))
    ledger.add_answer("digest", Usage(input_tokens=60))
    ledger.require_budget()
    assert not (tmp_path / "tokens").exists()


def test_a_file_that_cannot_be_used_is_told_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The process then counts for itself alone."""
    (tmp_path / "tokens").write_text("in the way")
    ledger = Ledger(daily_tokens=100, day_file=DayFile(tmp_path / "tokens"))
    with caplog.at_level(logging.WARNING):
        ledger.add_answer("digest", Usage(input_tokens=100))
        with pytest.raises(ModelBudgetError):
            ledger.require_budget()
    assert "cannot write today's tokens for other processes" in caplog.text
    assert "cannot read today's tokens of other processes" in caplog.text


def test_a_day_file_forgets_earlier_days_and_skips_damaged_lines(tmp_path: Path) -> None:
    """One file stays, and a torn line costs no more than itself."""
    files = DayFile(tmp_path)
    files.add(TODAY, 5)
    files.add(TODAY + timedelta(days=1), 7)
    with (tmp_path / "2026-03-02").open("a", encoding="ascii") as file:
        file.write("what\n-3\n2\n")
    assert files.total(TODAY + timedelta(days=1)) == 9
    assert files.total(TODAY) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["2026-03-02"]
