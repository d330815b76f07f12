"""Values in messages: JSON, and no form of the programming language."""

import ast
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError, NotFoundError
from commonplace.core.quoting import quoted

SOURCE = Path(__file__).parents[3] / "src" / "commonplace"
ANSWERING = ("access", "apps", "embedding", "knowledge", "llm", "mcp", "services", "web")
"""The packages whose errors a client of the service can see."""


class Colour(StrEnum):
    """A closed set."""

    RED = "red"


@pytest.mark.requirement("ONE-06.4")
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        ("it's", '"it\'s"'),
        ('a "b"', r'"a \"b\""'),
        ("\x1b[31m\u202e", r'"\u001b[31m\u202e"'),
        ("\udc80", r'"\udc80"'),
        ("münchen", '"münchen"'),
        (True, "true"),
        (1.5, "1.5"),
        (Colour.RED, '"red"'),
        ({"a": None, 1: [True]}, '{"a": null, "1": [true]}'),
        ({"b", "a"}, '["a", "b"]'),
        ((), "[]"),
        (b"caf\xc3\xa9 \xff", r'"café \\xff"'),
        (UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02 00:00:00+00:00"'),
        (Path("/home/ada"), '"/home/ada"'),
        (object(), "a value of another kind"),
    ],
)
def test_a_value_is_shown_as_json(value: object, shown: str) -> None:
    """Whatever a caller passed."""
    assert quoted(value) == shown


def test_a_value_that_is_too_deep_is_described() -> None:
    """It names no type."""
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert quoted(value) == "a value nested too deeply"


@given(st.text())
def test_any_text_can_be_read_back(text: str) -> None:
    """And every character of the message can be seen."""
    assert json.loads(quoted(text)) == text
    assert quoted(text).isprintable()


@pytest.mark.requirement("ONE-06.4")
def test_errors_show_values_as_json() -> None:
    """Long values are cut."""
    assert str(InvalidInputError("limit", "a number", None)) == "limit: expected a number, got nothing"
    assert str(NotFoundError("fact", "x")) == 'no fact with id "x"'
    assert "… (202 characters)" in str(InvalidInputError("text", "less", "a" * 200))


def conversions(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of ``{value!r}``, but for those in logs, which only operators read."""
    for node in ast.iter_child_nodes(tree):
        is_log = isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("_").startswith("log.")
        if is_log or (isinstance(node, ast.FunctionDef) and node.name == "__repr__"):
            continue
        if isinstance(node, ast.FormattedValue) and node.conversion == ord("r"):
            yield node.value.lineno
        yield from conversions(node)


@pytest.mark.requirement("ONE-06.4")
@pytest.mark.parametrize("package", ANSWERING)
def test_no_message_shows_a_repr(package: str) -> None:
    """:func:`quoted` does the same for people and for programs in any language."""
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted((SOURCE / package).rglob("*.py"))
        for line in conversions(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []
