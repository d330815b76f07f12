"""The words of the audit stream: what writes them and what filters by them agree on one list."""

import re

import pytest

from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store.unit_of_work import kind_queries, queries

_WRITTEN = re.compile(
    r"INSERT INTO memory_events[^;]*?current_setting\('commonplace\.tenant_id'\),\s+'(\w+)'(?!\s*\|\|)"
)
_TAGGED = re.compile(r"'(\w+_(?:un)?(?:pinned|tagged))'")
"""The events of tags and pins; one statement writes them all."""

_SWEPT = re.compile(r"changing\.left_over, '(\w+)'")
"""The events of the sweep."""

_DELETED = re.compile(r"'(\w+)' AS event_type")
"""The events of deleted episodes; one part of statements writes them all."""

_REVIEWED = re.compile(r"'(review_(?:decided|reopened))'")
"""The events of a decision about two facts; one statement writes either."""

_ENDED = ("consolidation_failed", "consolidation_refused")
"""What ``end_run`` makes of the state of the run."""


@pytest.mark.requirement("KNW-33.1")
def test_every_word_that_a_statement_writes_is_known() -> None:
    """Each is a type of event, and each type that no statement writes is one that the code records by name."""
    loaded = [queries(), *map(kind_queries, MemoryType)]
    statements = "\n".join(each.text_of(name) for each in loaded for name in each.names)
    written = {
        *_WRITTEN.findall(statements),
        *_TAGGED.findall(statements),
        *_REVIEWED.findall(statements),
        *_SWEPT.findall(statements),
        *_DELETED.findall(statements),
        *_ENDED,
    }
    assert written <= set(EventType)
    assert set(EventType) - written == {
        EventType.RULE_HELPFUL,
        EventType.RULE_HARMFUL,
        EventType.RULE_INVERTED,
        EventType.FACT_SYNCED,
        EventType.RULE_SYNCED,
        EventType.SCOPE_MOVED,
        EventType.SCOPE_MOVE_UNDONE,
        EventType.ENTITY_CREATED,
        EventType.ENTITY_UPDATED,
        EventType.ENTITY_MERGED,
        EventType.ENTITY_UNMERGED,
        EventType.MEMORY_ERASED,
    }
