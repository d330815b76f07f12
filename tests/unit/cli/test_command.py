"""Answers of commands as JSON and as tables."""

import json

import pytest

from commonplace.cli.frame.command import listing, show


@pytest.mark.requirement("REL-02.1")
def test_a_list_builds_only_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """A table of many rows takes longer than their JSON."""
    rows: list[int] = []

    def row(one: int) -> tuple[int]:
        rows.append(one)
        return (one,)

    answer = listing("numbers", [7, 8], ["number"], row, if_empty="No numbers.")
    show(answer, as_json=True)
    assert (json.loads(capsys.readouterr().out), rows) == ({"count": 2, "numbers": [7, 8]}, [])
    show(answer, as_json=False)
    assert ("number" in capsys.readouterr().out, rows) == (True, [7, 8])
    show(listing("numbers", [], ["number"], row, if_empty="No numbers."), as_json=False)
    assert capsys.readouterr().out == "No numbers.\n"
