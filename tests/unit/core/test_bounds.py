"""Bounds of annotated types."""

import math
from typing import Annotated

import pytest
from annotated_types import Ge, Le, MaxLen, MinLen

from commonplace.core.bounds import BudgetTokens, Share, bounds_of, require_within
from commonplace.core.errors import InvalidInputError

Name = Annotated[str, MinLen(1), MaxLen(3)]


@pytest.mark.parametrize(
    ("annotated", "expected"),
    [
        (Share, "a number from 0.0 to 1.0"),
        (Share | None, "a number from 0.0 to 1.0"),
        (BudgetTokens, "a whole number from 0 to 1000000"),
        (Annotated[int, Ge(0)], "a whole number from 0"),
        (Annotated[float, Le(5)], "a number of at most 5"),
        (Name, "text of 1 to 3 characters"),
        (Annotated[str, MaxLen(9)], "text of at most 9 characters"),
        (Annotated[list[Name], MaxLen(2)], "a list of at most 2 items"),
        (int, "a whole number"),
    ],
    ids=str,
)
def test_the_bounds_read_as_a_sentence(annotated: object, expected: str) -> None:
    """As errors have them after the word "expected"."""
    assert bounds_of(annotated).expected == expected


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf, True, "1", None])
def test_a_value_out_of_bounds_is_refused(value: object) -> None:
    """As is a value of another type."""
    with pytest.raises(InvalidInputError, match=r"^floor: expected a number from 0.0 to 1.0, got"):
        require_within(Share, value, field="floor")


def test_a_value_within_bounds_is_returned() -> None:
    """A whole number counts as a number."""
    assert (require_within(Share, 1, field="floor"), require_within(Name, "abc", field="name")) == (
        1.0,
        "abc",
    )
    assert not bounds_of(Name).hold("abcd")
    assert bounds_of(Annotated[list[Name], MaxLen(2)]).hold(["a", "b"])
