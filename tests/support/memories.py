"""Memories for tests that need no database."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from commonplace.knowledge.model.kinds import COLUMNS, Episode, Fact, MemoryType, Rule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_COMMON: dict[str, Any] = {
    "id": UUID(int=1),
    "scope": "global",
    "tenant_id": "default",
    "confidence": 1.0,
    "decay_rate": 0.0,
    "permanence": "standard",
    "source_butler": None,
    "source_episode_id": None,
    "created_at": NOW,
    "last_confirmed_at": NOW,
    "last_referenced_at": NOW,
    "reference_count": 0,
    "tags": [],
    "metadata": {},
    "source": "agent",
    "trust": "agent",
    "flags": [],
}


def a_fact(**changed: object) -> Fact:
    """Return a fact as it is read from the database; a key of its row may be changed."""
    row = {
        **_COMMON,
        "subject": "gateway",
        "predicate": "port",
        "content": "listens on 8080",
        "importance": 5.0,
        "validity": "active",
        "entity_id": None,
        "supersedes_id": None,
        "valid_from": None,
        "valid_to": None,
        **changed,
    }
    return Fact.from_row(row, now=NOW)


def an_episode(**changed: object) -> Episode:
    """Return an episode as it is read from the database; a key of its row may be changed."""
    row = dict.fromkeys(COLUMNS[MemoryType.EPISODE]) | {
        **_COMMON,
        "butler": "ops",
        "content": "The gateway was restarted",
        "importance": 5.0,
        "consolidation_status": "pending",
        **changed,
    }
    return Episode.from_row(row, now=NOW)


def a_rule(**changed: object) -> Rule:
    """Return a rule as it is read from the database; a key of its row may be changed."""
    row = {
        **_COMMON,
        "content": "never deploy on a Friday",
        "maturity": "proven",
        "effectiveness_score": 0.875,
        "applied_count": 8,
        "success_count": 7,
        "harmful_count": 1,
        "last_applied_at": None,
        "last_evaluated_at": None,
        **changed,
    }
    return Rule.from_row(row, now=NOW)


DAY = timedelta(days=1)
