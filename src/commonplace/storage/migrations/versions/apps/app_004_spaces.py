"""What the specification plans for later: spaces of users, vectors, shared memories; and the history of each.

The columns that the specification gives ``app_memories`` stay as they are.
"""

import sqlalchemy as sa
from alembic import op

revision = "app_004"
down_revision = "app_003"
branch_labels = None
depends_on = None

ONE_PER_CONVERSATION = sa.text("source_conversation_id IS NOT NULL")


def upgrade() -> None:
    """Create the tables, give memories a user, and allow a conversation one memory."""
    op.add_column("app_memories", sa.Column("user_id", sa.Text))
    op.create_index(
        "uq_app_memories_conversation",
        "app_memories",
        ["app_id", "source_conversation_id"],
        unique=True,
        sqlite_where=ONE_PER_CONVERSATION,
        postgresql_where=ONE_PER_CONVERSATION,
    )
    op.create_table(
        "app_memory_vectors",
        sa.Column(
            "memory_id", sa.Integer, sa.ForeignKey("app_memories.id", ondelete="CASCADE"), primary_key=True
        ),
        # Only vectors of one model and version can be compared.
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("vector", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "app_memory_shares",
        sa.Column("to_app_id", sa.Text, sa.ForeignKey("apps.app_id", ondelete="CASCADE"), primary_key=True),
        sa.Column(
            "memory_id", sa.Integer, sa.ForeignKey("app_memories.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index("idx_app_memory_shares_memory", "app_memory_shares", ["memory_id"])
    op.create_table(
        "app_memory_changes",
        sa.Column("id", sa.Integer, primary_key=True),
        # No foreign keys: the history of a memory outlives it.
        sa.Column("memory_id", sa.Integer, nullable=False),
        sa.Column("app_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("before", sa.Text),
        sa.Column("after", sa.Text),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_app_memory_changes_memory", "app_memory_changes", ["memory_id"])
    op.create_index("idx_app_memory_changes_app", "app_memory_changes", ["app_id", "kind", "created_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("app_memory_changes")
    op.drop_table("app_memory_shares")
    op.drop_table("app_memory_vectors")
    op.drop_index("uq_app_memories_conversation", "app_memories")
    op.drop_column("app_memories", "user_id")
