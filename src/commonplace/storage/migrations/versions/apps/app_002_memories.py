"""Memories of apps: the table of the specification (APP-01)."""

import sqlalchemy as sa
from alembic import op

revision = "app_002"
down_revision = "app_001"
branch_labels = None
depends_on = None

# PostgreSQL has no DATETIME, and its CURRENT_TIMESTAMP is no text.
MOMENT = sa.Text().with_variant(sa.DATETIME(), "sqlite")
NOW = {
    "sqlite": sa.text("CURRENT_TIMESTAMP"),
    "postgresql": sa.text("to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24\\:MI\\:SS.US\"Z\"')"),
}


def upgrade() -> None:
    """Create the table and its indexes exactly as the specification gives them."""
    now = NOW[op.get_bind().dialect.name]
    op.create_table(
        "app_memories",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("app_id", sa.Text, sa.ForeignKey("apps.app_id", ondelete="CASCADE"), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", MOMENT, server_default=now),
        sa.Column("updated_at", MOMENT, server_default=now),
        sa.Column("source_conversation_id", sa.Text),
        sa.Column("metadata", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_app_memories_app_id", "app_memories", ["app_id"])
    op.create_index("idx_app_memories_created_at", "app_memories", ["created_at"])
    op.create_index("idx_app_memories_updated_at", "app_memories", ["updated_at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("app_memories")
