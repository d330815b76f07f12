"""The arithmetic of energy."""

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.apps.model.energy import EnergyPolicy
from commonplace.apps.rules.energy import compaction_cost, creation_cost, refilled, status_of
from support.apps import MOMENT

POLICY = EnergyPolicy()


@pytest.mark.requirement("APP-11.1", "R-APP-3")
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_costs_lie_within_their_bounds_and_grow_with_the_conversation(one: int, other: int) -> None:
    """10 to 15 units a creation, 20 to 30 a compaction."""
    shorter, longer = sorted((one, other))
    assert 10 <= creation_cost(shorter) <= creation_cost(longer) <= 15
    assert 20 <= compaction_cost(shorter) <= compaction_cost(longer) <= 30


@pytest.mark.requirement("APP-11.1")
def test_the_bounds_are_reached() -> None:
    """By an empty conversation and by a long one."""
    assert (creation_cost(0), creation_cost(20_000)) == (10, 15)
    assert (compaction_cost(0), compaction_cost(20_000)) == (20, 30)


@given(st.floats(0, 1000), st.floats(-1e6, 1e6))
def test_a_level_refills_up_to_the_capacity(level: float, elapsed_s: float) -> None:
    """It never falls by waiting, not even when the clock goes back."""
    after = refilled(POLICY, level, MOMENT, MOMENT + timedelta(seconds=elapsed_s))
    assert level <= after <= POLICY.capacity
    if elapsed_s <= 0:
        assert after == level


def test_refilling_in_steps_is_refilling_at_once() -> None:
    """2.5 units a second."""
    halfway = refilled(POLICY, 100, MOMENT, MOMENT + timedelta(seconds=20))
    assert halfway == 150
    end = MOMENT + timedelta(seconds=60)
    assert refilled(POLICY, halfway, MOMENT + timedelta(seconds=20), end) == refilled(
        POLICY, 100, MOMENT, end
    )


@pytest.mark.requirement("APP-11.2", "R-APP-3")
def test_at_a_fifth_of_the_capacity_energy_is_low() -> None:
    """Above it is not; the wait is what refilling takes."""
    assert status_of(POLICY, 200).low
    assert not status_of(POLICY, 200.01).low
    assert status_of(POLICY, 150).wait_s == 20
    assert status_of(POLICY, 200).wait_s == 1
    assert status_of(POLICY, 500).wait_s == 0
    assert status_of(EnergyPolicy(refill_per_s=0), 0).wait_s == math.inf


@pytest.mark.requirement("APP-11.4")
def test_even_the_dearest_day_of_200_conversations_stays_under_five_percent() -> None:
    """Each as long as can be, each with a compaction."""
    dearest = 200 * (creation_cost(10**9) + compaction_cost(10**9))
    assert dearest / (POLICY.refill_per_s * 86_400) < 0.05
