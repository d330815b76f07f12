"""The curve of a confidence that nobody confirms, and the dates on which it counts for less."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.confidence import effective_confidence
from commonplace.web.pages.knowledge.decay_curve import LONGEST, decay_curve

SINCE = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.requirement("KNW-09.3")
def test_the_dates_are_those_on_which_the_sweep_acts() -> None:
    """At the standard rate 1.0 fades after 201 days and expires after 374."""
    curve = decay_curve(1.0, 0.008, SINCE, SINCE)
    assert curve is not None
    assert curve.fades_at is not None
    assert curve.expires_at is not None
    assert (curve.fades_at - SINCE).days == int(math.log(5) / 0.008)
    assert (curve.expires_at - SINCE).days == int(math.log(20) / 0.008)
    assert effective_confidence(1.0, 0.008, SINCE, curve.fades_at) == pytest.approx(0.2)


@pytest.mark.requirement("KNW-09.1")
@pytest.mark.parametrize(("confidence", "rate"), [(1.0, 0.0), (0.0, 0.008)])
def test_what_does_not_decay_has_no_curve(confidence: float, rate: float) -> None:
    """Neither what is permanent nor what has nothing to lose."""
    assert decay_curve(confidence, rate, SINCE, SINCE) is None


@given(
    confidence=st.floats(0.001, 1.0),
    rate=st.floats(0.0001, 0.5),
    days=st.floats(0, 4_000),
)
def test_the_present_is_on_the_curve(confidence: float, rate: float, days: float) -> None:
    """Whatever the rate: times ascend, values never rise, and it begins at the base."""
    now = SINCE + timedelta(days=days)
    curve = decay_curve(confidence, rate, SINCE, now)
    assert curve is not None
    assert list(curve.times) == sorted(curve.times)
    assert curve.times[0] <= curve.now <= curve.times[-1] + 1
    assert list(curve.values) == sorted(curve.values, reverse=True)
    assert curve.values[0] == round(confidence, 4)
    length = curve.times[-1] - curve.times[0]
    assert length <= max(LONGEST.total_seconds(), 1.1 * days * 86_400) + 1
