"""A pair of observations on a terminal."""

from datetime import UTC, datetime

from commonplace.cli.commands.review import SHOWN_CHARS, item_text
from commonplace.operational import MemoryCategory, Review
from commonplace.services.review.observations import pair_item


def test_a_long_observation_is_cut() -> None:
    """A pair fits on a screen, and a short text stays whole."""
    found = Review(
        id=1,
        kind="observation",
        service="gate",
        category=MemoryCategory.BEHAVIOR,
        old_id=2,
        old_observation="word " * 400,
        new_id=3,
        new_observation="The west gate is closed",
        reason="The new text may correct the old one.",
        decision=None,
        decided_by=None,
        explanation="",
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
        decided_at=None,
    )
    _, old, new = item_text(pair_item(found)).splitlines()
    assert len(old) <= SHOWN_CHARS + len("   old o:2: ")
    assert old.endswith("word…")
    assert new == "   new o:3: The west gate is closed"
