"""Reading the results of the claude CLI."""

import pytest

from commonplace.llm.cli_process import is_unavailable


@pytest.mark.parametrize(
    ("status", "text", "unavailable"),
    [
        (None, "API Error: Unable to connect to API (ECONNRESET)", True),
        (None, "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary", True),
        (None, "Request timed out", True),
        (None, "Your prompt was malformed", False),
        (529, "overloaded", True),
        (429, "slow down", True),
        (400, "Unable to connect the dots", False),
    ],
)
def test_an_unreachable_api_is_told_from_a_refusal(
    status: int | None, text: str, *, unavailable: bool
) -> None:
    """The HTTP status counts; without one, the words of the CLI."""
    assert is_unavailable(status, text) is unavailable
