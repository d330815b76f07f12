"""Pauses between attempts."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from commonplace.llm.retries import Retries


@given(
    most=st.integers(0, 12),
    first_s=st.floats(0.01, 5),
    longest_s=st.floats(0.01, 60),
    chances=st.lists(st.floats(0, 1), min_size=12, max_size=12),
)
def test_pauses_double_up_to_the_longest_and_lose_at_most_half(
    most: int, first_s: float, longest_s: float, chances: list[float]
) -> None:
    """As many as asked for, each within half of its step."""
    pauses = list(Retries(most=most, first_s=first_s, longest_s=longest_s).pauses(iter(chances).__next__))
    assert len(pauses) == most
    for number, pause_s in enumerate(pauses):
        step_s = min(first_s * 2**number, longest_s)
        assert step_s / 2 <= pause_s <= step_s


def test_without_chance_each_pause_is_twice_the_one_before() -> None:
    """0.5, 1, 2, 4 s by default."""
    pauses = list(Retries().pauses(lambda: 0.0))
    assert pauses[0] == 0.5
    assert all(later == 2 * earlier for earlier, later in pairwise(pauses))
