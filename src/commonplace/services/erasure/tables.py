"""The tables that hold text about people, with the references between their rows.

A table that does not exist in a database is skipped. Rows of other tables (search words, passages, vectors, decay) are
deleted with their memory by triggers and foreign keys.
"""

from dataclasses import dataclass
from typing import Final

from commonplace.services.erasure.selection import By


@dataclass(frozen=True, slots=True)
class Reference:
    """A column that refers to rows of another table; if such a row is erased, this row is erased too.

    Attributes:
        only: The value of the column ``relation`` in the other table for which the reference applies.
        derived: Whether the row was derived from the other row and may be kept.
    """

    column: str
    table: str
    other: str = "id"
    only: str | None = None
    derived: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows are deleted.

    Attributes:
        key: The column that identifies a row; empty if the row's position in the table identifies it.
        searched: The columns in which a subject is searched; empty for all text columns.
        whole: Whether every erasure deletes all rows of the tenant, because they may contain copies of any memory.
    """

    name: str
    memory: str
    key: str = "id"
    references: tuple[Reference, ...] = ()
    searched: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Redacted:
    """A table whose rows stay, because other rows refer to them, but lose the texts of some columns.

    Attributes:
        columns: The columns that lose their texts.
        names: The columns that lose only texts with the subject, because they name who did something.
        key: The column that identifies a row.
        references: Columns that refer to rows of another table; if such a row is erased, the texts are removed.
        own: The property whose value is in the key or another column; if it is selected, the texts are removed.
        unless: The condition for rows without texts of memories, in SQL.
    """

    name: str
    memory: str
    columns: tuple[str, ...]
    names: tuple[str, ...] = ()
    key: str = "id"
    references: tuple[Reference, ...] = ()
    own: By | None = None
    unless: str = "false"


COLUMNS: Final = {
    By.SOURCE: frozenset({"butler", "source_butler", "app_id"}),
    By.SESSION: frozenset({"session_id", "agent_session_id", "conversation_id", "source_conversation_id"}),
    By.TENANT: frozenset({"tenant_id"}),
}
"""The columns that hold a property, in any table."""

_MEMORIES: Final = ("episodes", "facts", "rules")
_KNOWLEDGE: Final = "knowledge memory"
_OPERATIONAL: Final = "operational memory"
_APPS: Final = "app memory"
_FROM_SOURCE: Final = (
    Reference("source_episode_id", "episodes", derived=True),
    Reference("id", "memory_links", "source_id", only="derived_from", derived=True),
)

DELETED: Final = (
    Table(
        "memory_links",
        _KNOWLEDGE,
        key="",
        references=tuple(
            Reference(column, table) for column in ("source_id", "target_id") for table in _MEMORIES
        ),
    ),
    Table(
        "told_apart",
        _KNOWLEDGE,
        key="",
        references=tuple(
            Reference(column, table)
            for column in ("first_id", "second_id")
            for table in (*_MEMORIES, "entities")
        ),
    ),
    Table(
        "consolidation_actions",
        _KNOWLEDGE,
        key="",
        references=(Reference("memory_id", "facts"), Reference("memory_id", "rules")),
    ),
    Table(
        "fact_reviews", _KNOWLEDGE, references=(Reference("old_id", "facts"), Reference("new_id", "facts"))
    ),
    Table("fact_states", _KNOWLEDGE, key="place", references=(Reference("fact_id", "facts"),)),
    Table("rule_applications", _KNOWLEDGE, references=(Reference("rule_id", "rules"),)),
    Table("facts", _KNOWLEDGE, references=(Reference("entity_id", "entities"), *_FROM_SOURCE)),
    Table("rules", _KNOWLEDGE, references=_FROM_SOURCE),
    Table("entities", _KNOWLEDGE, searched=("canonical_name", "aliases", "name_keys")),
    Table("episodes", _KNOWLEDGE),
    Table("kept_answers", _KNOWLEDGE, key="claim", whole=True),
    Table("job_outcomes", _KNOWLEDGE, key="job_id"),
    Table("procrastinate_jobs", _KNOWLEDGE),
    Table("memory_changes", _OPERATIONAL, references=(Reference("memory_id", "memories"),)),
    Table(
        "reviews",
        _OPERATIONAL,
        references=(Reference("old_id", "memories"), Reference("new_id", "memories")),
    ),
    Table(
        "memories",
        _OPERATIONAL,
        references=(Reference("id", "memory_changes", "memory_id", derived=True),),
    ),
    Table("session_output", _OPERATIONAL, key=""),
    Table("events", _OPERATIONAL),
    Table("health_checks", _OPERATIONAL),
    Table("cooldown_actions", _OPERATIONAL),
    Table("app_memory_changes", _APPS, references=(Reference("memory_id", "app_memories"),)),
    Table(
        "app_memories",
        _APPS,
        references=(
            Reference("source_conversation_id", "conversations", "conversation_id", derived=True),
            Reference("id", "app_memory_changes", "memory_id", derived=True),
        ),
    ),
    Table(
        "app_digests",
        _APPS,
        key="",
        references=(Reference("conversation_id", "conversations", "conversation_id"),),
    ),
    Table("messages", _APPS, references=(Reference("conversation_id", "conversations", "conversation_id"),)),
    Table(
        "conversations",
        _APPS,
        key="conversation_id",
        references=(Reference("conversation_id", "messages", "conversation_id", derived=True),),
    ),
    Table("energy_ledger", _APPS),
    Table("request_answers", _OPERATIONAL, key="claim", whole=True),
)
"""In order of deletion: rows that refer to other rows come first."""

REDACTED: Final = (
    Redacted(
        "memory_events",
        _KNOWLEDGE,
        ("payload", "actor"),
        names=("actor",),
        references=tuple(Reference("about_id", table) for table in (*_MEMORIES, "entities")),
        own=By.TENANT,
        unless="event_type = 'memory_erased'",
    ),
    Redacted(
        "consolidation_runs",
        _KNOWLEDGE,
        ("notes", "errors", "undone_by"),
        names=("undone_by",),
        references=(Reference("episode_ids", "episodes"),),
        own=By.TENANT,
    ),
    Redacted("entities", _KNOWLEDGE, ("metadata",)),
    Redacted("sessions", _OPERATIONAL, ("prompt_text", "response", "trigger"), own=By.SESSION),
    Redacted("apps", _APPS, ("name",), key="app_id"),
    Redacted("access_tokens", "access", ("name",)),
)
