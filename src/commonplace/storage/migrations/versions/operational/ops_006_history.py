"""What the specification's table has no room for: history, charged weeks of decay, markers already seen.

``memories`` itself stays exactly as specified, so that a program that knows only that table can share it.
"""

import sqlalchemy as sa
from alembic import op

revision = "ops_006"
down_revision = "ops_005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the three tables, and tell sessions apart by the id that the agent's stream gives."""
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
    op.create_table(
        "session_markers",
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id"), primary_key=True),
        sa.Column("fingerprint", sa.Text, primary_key=True),
    )
    op.add_column("sessions", sa.Column("agent_session_id", sa.Text))
    op.create_index("uq_sessions_agent_session", "sessions", ["agent_session_id"], unique=True)


def downgrade() -> None:
    """Drop them."""
    op.drop_index("uq_sessions_agent_session", "sessions")
    op.drop_column("sessions", "agent_session_id")
    op.drop_table("session_markers")
    op.drop_table("memory_decay")
    op.drop_table("memory_changes")
