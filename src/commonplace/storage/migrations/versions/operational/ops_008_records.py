"""Tables beside the specified ones: history, charged weeks of decay, markers already read, and output of sessions.

``memories`` keeps the specified columns, so that a program that knows only that table can share it.

Revisions ``ops_006`` and ``ops_007`` belong to development versions; this one creates what they created.
"""

import sqlalchemy as sa
from alembic import op

revision = "ops_008"
down_revision = "ops_005"
branch_labels = None
depends_on = None

SESSION_COLUMNS = (
    ("agent_session_id", sa.Text),
    ("recorder_host", sa.Text),
    ("recorder_pid", sa.Integer),
    ("recorder_started_at", sa.Text),
    # Updated again and again while the session runs.
    ("seen_at", sa.Text),
)

# Lists are read in their order from an index. The columns that lists filter by stand last, so that a row is looked up
# only when it is on the page.
LIST_INDEXES = {
    "idx_memories_by_service": (
        "memories ((service IS NULL), lower(service), confidence DESC, id DESC, active, category)"
    ),
    "idx_memories_by_confidence": "memories (confidence DESC, updated_at DESC, id DESC, active, category)",
    "idx_memories_by_recency": "memories (updated_at DESC, id DESC, active, category)",
    "idx_memories_created": "memories (created_at)",
    "idx_events_level": "events (level, created_at DESC, id DESC)",
}


def upgrade() -> None:
    """Create the tables, the columns of ``sessions`` and the indexes of lists."""
    _create_history()
    _create_session_tables()
    for name, kind in SESSION_COLUMNS:
        op.add_column("sessions", sa.Column(name, kind))
    op.create_index("uq_sessions_agent_session", "sessions", ["agent_session_id"], unique=True)
    op.create_index("idx_sessions_status", "sessions", ["status"])
    for name, place in LIST_INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {place}")


def _create_history() -> None:
    op.create_table(
        "memory_changes",
        sa.Column("id", sa.Integer, primary_key=True),
        # No foreign key: the history of a memory outlives it.
        sa.Column("memory_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("before", sa.Text),
        sa.Column("after", sa.Text),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_memory_changes_memory", "memory_changes", ["memory_id", "kind", "session_id"])
    op.create_index("idx_memory_changes_created", "memory_changes", ["created_at"])
    op.create_table(
        "memory_decay",
        sa.Column(
            "memory_id", sa.Integer, sa.ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True
        ),
        # The weeks count from this value of memories.updated_at; a newer one restarts the count.
        sa.Column("counted_from", sa.Text, nullable=False),
        sa.Column("weeks_charged", sa.Integer, nullable=False),
    )


def _create_session_tables() -> None:
    op.create_table(
        "session_markers",
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("fingerprint", sa.Text, primary_key=True),
    )
    op.create_table(
        "session_output",
        sa.Column(
            "session_id", sa.Integer, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True
        ),
        # Counts from 1 in each session.
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        # Distinguishes a line that is read again from another line with the same text.
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index(
        "uq_session_output_fingerprint", "session_output", ["session_id", "fingerprint"], unique=True
    )
