"""The words of the audit stream: what writes them and what filters by them agree on one list."""

import re
from importlib.resources import files

import pytest

from commonplace.knowledge.connection.unit_of_work import SQL_DIRECTORIES
from commonplace.knowledge.events import EventType

_WRITTEN = re.compile(
    r"INSERT INTO memory_events[^;]*?current_setting\('commonplace\.tenant_id'\),\s+'(\w+)'(?!\s*\|\|)"
)
_TAGGED = re.compile(r"'(\w+_(?:un)?(?:pinned|tagged))'")
"""The events of tags and pins; one statement writes them all."""

_SWEPT = re.compile(r"changing\.left_over, '\$\{memory_type\}(\w+)'")
"""The endings of the events of the sweep, whose statement is filled in for facts and for rules."""

_REVIEWED = re.compile(r"'(review_(?:decided|reopened))'")
"""The events of a decision about two facts; one statement writes either."""

_ENDED = ("consolidation_failed", "consolidation_refused")
"""What ``end_run`` makes of the state of the run."""


@pytest.mark.requirement("KNW-33.1")
def test_every_word_that_a_statement_writes_is_known() -> None:
    """Each is a type of event, and each type that no statement writes is one that the code records by name."""
    statements = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (path for folder in SQL_DIRECTORIES for path in folder.glob("*.sql"))
    )
    (sweep,) = files("commonplace.knowledge.upkeep").joinpath("sql_by_table").iterdir()
    endings = _SWEPT.findall(sweep.read_text(encoding="utf-8"))
    swept = {f"{memory_type}{ending}" for memory_type in ("fact", "rule") for ending in endings}
    written = {
        *_WRITTEN.findall(statements),
        *_TAGGED.findall(statements),
        *_REVIEWED.findall(statements),
        *swept,
        *_ENDED,
    }
    assert written <= set(EventType)
    assert set(EventType) - written == {
        EventType.RULE_HELPFUL,
        EventType.RULE_HARMFUL,
        EventType.RULE_INVERTED,
        EventType.SCOPE_MOVED,
        EventType.SCOPE_MOVE_UNDONE,
        EventType.ENTITY_CREATED,
        EventType.ENTITY_UPDATED,
        EventType.ENTITY_MERGED,
        EventType.ENTITY_UNMERGED,
        EventType.MEMORY_ERASED,
    }
