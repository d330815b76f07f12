"""Parameters that a door shows one by one, and that a function takes as one value."""

from typing import Annotated

import pytest

from commonplace.core.parameter_groups import BuiltBy, flat_parameters, gathered


def period(owner: str, *, since: int = 0, until: int = 9) -> tuple[str, int, int]:
    """Return a period of an owner."""
    return owner, since, until


async def place(_: str, *, room: str = "hall") -> str:
    """Return a place."""
    return room.upper()


def listed(
    query: str,
    *,
    within: Annotated[tuple[str, int, int], BuiltBy(period)] = ("", 0, 9),
    where: Annotated[str, BuiltBy(place)] = "",
    limit: int = 5,
) -> None:
    """Take a query, two groups and a limit."""


@pytest.mark.requirement("FLR-05")
async def test_a_group_shows_the_parameters_of_its_builder_and_passes_its_value() -> None:
    """In place of the group, with their defaults; a builder may be a coroutine function."""
    shown = flat_parameters(listed)
    assert [each.name for each in shown] == ["query", "since", "until", "room", "limit"]
    assert [each.default for each in shown[1:]] == [0, 9, "hall", 5]
    values = {"query": "tea", "since": 1, "until": 2, "room": "attic", "limit": 3}
    arguments = await gathered(listed, values, "Ada")
    assert arguments == {"query": "tea", "limit": 3, "within": ("Ada", 1, 2), "where": "ATTIC"}
