"""How long facts are expected to hold."""

import math

import pytest

from commonplace.core.choices import require_one_of
from commonplace.knowledge.model.permanence import DECAY_RATES, Permanence


@pytest.mark.requirement("KNW-04.1")
def test_each_permanence_has_its_decay_rate() -> None:
    """The five of the specification, and no other."""
    assert {str(level): rate for level, rate in DECAY_RATES.items()} == {
        "permanent": 0.0,
        "stable": 0.002,
        "standard": 0.008,
        "volatile": 0.03,
        "ephemeral": 0.1,
    }
    assert set(DECAY_RATES) == set(Permanence)


@pytest.mark.requirement("KNW-04.2")
@pytest.mark.parametrize("word", ["forever", "", "Permanent", "STANDARD", None, 3])
def test_another_word_is_refused_with_the_list(word: str) -> None:
    """As a ValueError that names the five."""
    with pytest.raises(ValueError, match="one of permanent, stable, standard, volatile, ephemeral, got"):
        require_one_of(Permanence, word, field="permanence")


def test_rates_are_shares_per_day() -> None:
    """A standard fact keeps half of its confidence for about three months, an ephemeral one for a week."""
    half_lives = [math.log(2) / DECAY_RATES[each] for each in (Permanence.STANDARD, Permanence.EPHEMERAL)]
    assert half_lives == pytest.approx([86.6, 6.93], abs=0.05)
