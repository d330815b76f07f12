"""Entries of commonplace in the settings of hosts, told from the entries of others."""

from typing import Any

import pytest

from commonplace.hosts.install.json_edits import _arguments  # pyright: ignore[reportPrivateUsage]

HOOK = ["hook", "session-start"]


@pytest.mark.parametrize(
    ("entry", "is_ours"),
    [
        ({"command": "othertool", "args": HOOK}, False),
        ({"command": ["othertool", *HOOK]}, False),
        ({"command": "othertool hook session-start"}, False),
        ({"command": [5, *HOOK]}, False),
        ({"args": HOOK}, False),
        ({"command": "/opt/bin/commonplace", "args": HOOK}, True),
        ({"command": ["/usr/bin/python3", "-m", "commonplace", *HOOK]}, True),
        ({"command": "commonplace hook session-start"}, True),
    ],
)
def test_only_a_command_that_runs_commonplace_is_ours(entry: dict[str, Any], *, is_ours: bool) -> None:
    """A user's hook of another program stays, whatever its arguments are."""
    assert bool(_arguments(entry)) is is_ours
