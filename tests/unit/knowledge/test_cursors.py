"""Cursors of lists: what they hold, and what is refused."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.knowledge.model.orders import FactOrder, RuleOrder
from commonplace.knowledge.rules.cursors import cursor_of, moment_after, name_after, place_after
from commonplace.storage.rows import read_row

AT = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
KEY = UUID(int=7)
COMMON: dict[str, Any] = {
    "id": KEY, "content": "x" * 5000, "confidence": 0.1 + 0.2, "effective_confidence": 0.1, "decay_rate": 0.002,
    "permanence": "standard", "scope": "ops", "source_butler": None, "source_episode_id": None, "created_at": AT,
    "last_confirmed_at": None, "reference_count": 3, "last_referenced_at": None, "tags": (), "metadata": {},
}  # fmt: skip
FACT = read_row(
    Fact,
    COMMON | {
        "subject": "Zoë “Straße”", "predicate": "p", "importance": 7.25, "validity": "active", "entity_id": None,
        "supersedes_id": None, "valid_from": None, "valid_to": None, "source": "agent", "trust": "agent", "flags": (),
    },
)  # fmt: skip
RULE = read_row(
    Rule,
    COMMON | {
        "maturity": "proven", "effectiveness_score": 0.9, "applied_count": 4, "success_count": 3, "harmful_count": 1,
        "last_applied_at": None, "last_evaluated_at": AT, "source": "agent", "trust": "agent", "flags": (),
    },
)  # fmt: skip


def parts(cursor: str) -> list[Any]:
    """Return the parts of a cursor."""
    return json.loads(urlsafe_b64decode(cursor))


def written(*values: object) -> str:
    """Return a cursor of any parts."""
    return urlsafe_b64encode(json.dumps(values).encode()).decode()


@pytest.mark.parametrize("memory", [FACT, RULE])
def test_a_cursor_holds_the_place_of_a_memory_in_each_order(memory: Fact | Rule) -> None:
    """Numbers and times come back exactly; a cursor of one order is refused in every other."""
    orders = list(FactOrder if isinstance(memory, Fact) else RuleOrder)
    for order in orders:
        cursor = cursor_of(memory, sort=order)
        assert len(cursor) < 1500
        found = place_after(cursor, type(memory), order)
        assert (found["after_at"], found["after_id"]) == (AT, KEY)
        assert found["after"].pop("created_at") == AT.isoformat()
        assert found["after"].pop("id") == str(KEY)
        for name, value in found["after"].items():
            expected = getattr(memory, name)
            assert value == (expected[:256] if isinstance(expected, str) else expected)
        for other in set(orders) - {order}:
            with pytest.raises(InvalidInputError, match="cursor"):
                place_after(cursor, type(memory), other)


@pytest.mark.parametrize(
    ("order", "fields"),
    [
        ("importance", {"importance": "9"}),
        ("importance", {"importance": True}),
        ("importance", {"importance": float("inf")}),
        ("importance", {"importance": 1.0, "id": "x"}),
        ("importance", {}),
        ("importance", [1.0]),
        ("used", {"reference_count": 2**40}),
        ("used", {"reference_count": 1.5}),
        ("subject", {"subject": "a\0b"}),
        ("subject", {"subject": "\ud800"}),
        ("subject", {"subject": None}),
        ("confirmed", {"last_confirmed_at": "yesterday"}),
        ("confirmed", {"last_confirmed_at": 5}),
    ],
)
def test_a_cursor_with_a_wrong_field_is_refused(order: str, fields: object) -> None:
    """Nothing reaches the database that has another type than the column."""
    cursor = written(AT.isoformat(), str(KEY), order, fields)
    with pytest.raises(InvalidInputError, match="the cursor of a page of the same list"):
        place_after(cursor, Fact, FactOrder(order))


def test_lists_with_one_order_have_short_cursors() -> None:
    """The newest first, and entities by name; a cursor with more parts is refused."""
    assert parts(cursor_of(FACT)) == [AT.isoformat(), str(KEY)]
    assert moment_after(cursor_of(FACT)) == {"after_at": AT, "after_id": KEY}
    assert name_after(written("Ada", str(KEY))) == {"after_name": "Ada", "after_id": KEY}
    for refused in (moment_after, name_after):
        with pytest.raises(InvalidInputError):
            refused(cursor_of(FACT, sort="importance"))
