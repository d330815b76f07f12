"""Confidence: decimal steps and exponential decay."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core import confidence

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CONFIDENCES = st.floats(min_value=0, max_value=1)


@pytest.mark.requirement("R-OPS-9")
def test_steps_are_decimal() -> None:
    """0.7 less 0.2 less 0.2 is 0.3, and that is active."""
    twice = confidence.step(confidence.step(0.7, Decimal("-0.2")), Decimal("-0.2"))
    assert twice == 0.3
    assert confidence.is_active(twice)
    assert not confidence.is_active(0.299999)


@pytest.mark.requirement("OPS-08.3")
@given(st.floats(allow_nan=False))
def test_clamped_confidence_is_within_range(value: float) -> None:
    """Any number ends within 0.0 to 1.0, and one that is there stays."""
    clamped = confidence.clamp(value)
    assert 0.0 <= clamped <= 1.0
    if 0 <= value <= 1:
        assert clamped == pytest.approx(value, abs=1e-6)


def test_not_a_number_is_refused() -> None:
    """A NaN would be neither active nor inactive."""
    with pytest.raises(ValueError, match="not a number"):
        confidence.clamp(math.nan)


@given(CONFIDENCES, st.integers(min_value=-30, max_value=30))
def test_steps_stay_within_range(value: float, tenths: int) -> None:
    """No number of steps leaves 0.0 to 1.0."""
    assert 0.0 <= confidence.step(value, Decimal(tenths) / 10) <= 1.0


@given(CONFIDENCES, st.floats(min_value=0.0001, max_value=1), st.floats(min_value=0, max_value=10_000))
def test_decay_never_adds(value: float, rate: float, days: float) -> None:
    """What is left is between nothing and the base, and less after more time."""
    left = confidence.effective_confidence(value, rate, NOW - timedelta(days=days), NOW)
    later = confidence.effective_confidence(value, rate, NOW - timedelta(days=days + 1), NOW)
    assert 0.0 <= later <= left <= value


def test_decay_follows_the_formula() -> None:
    """Confidence * exp(-rate * days); nothing without a confirmation, everything at rate 0."""
    left = confidence.effective_confidence(0.8, 0.008, NOW - timedelta(days=100), NOW)
    assert left == pytest.approx(0.8 * math.exp(-0.8))
    assert confidence.effective_confidence(0.8, 0.008, None, NOW) == 0.0
    assert confidence.effective_confidence(0.8, 0.0, None, NOW) == 0.8


def test_a_clock_that_jumped_back_adds_nothing() -> None:
    """A confirmation in the future counts as now."""
    assert confidence.effective_confidence(0.8, 0.1, NOW + timedelta(days=9), NOW) == 0.8
