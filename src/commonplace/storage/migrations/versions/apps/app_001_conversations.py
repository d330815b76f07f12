"""Apps, their conversations and the messages in them: the tables of the host that the specification assumes."""

import sqlalchemy as sa
from alembic import op

revision = "app_001"
down_revision = None
branch_labels = ("apps",)
depends_on = None


def upgrade() -> None:
    """Create the three tables."""
    op.create_table(
        "apps",
        sa.Column("app_id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        # An app that was uninstalled keeps its row, because its memories would go with it.
        sa.Column("status", sa.Text, nullable=False, server_default="installed"),
        sa.Column("installed_at", sa.Text, nullable=False),
        sa.Column("uninstalled_at", sa.Text),
        sa.CheckConstraint("status IN ('installed', 'uninstalled')", name="ck_apps_status"),
    )
    op.create_table(
        "conversations",
        sa.Column("conversation_id", sa.Text, primary_key=True),
        sa.Column("app_id", sa.Text, sa.ForeignKey("apps.app_id", ondelete="CASCADE"), nullable=False),
        sa.Column("user_id", sa.Text),
        sa.Column("status", sa.Text, nullable=False, server_default="active"),
        sa.Column("end_reason", sa.Text),
        # Of the last message: an active conversation that the user spoke last in is unanswered.
        sa.Column("last_role", sa.Text),
        sa.Column("last_message_at", sa.Text),
        sa.Column("message_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        # How many memories its model was shown; null until its context was built.
        sa.Column("memories_shown", sa.Integer),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.CheckConstraint("status IN ('active', 'ended')", name="ck_conversations_status"),
    )
    op.create_index(
        "idx_conversations_state", "conversations", ["status", "last_role", "app_id", "last_message_at"]
    )
    op.create_index("idx_conversations_app", "conversations", ["app_id", "ended_at"])
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "conversation_id",
            sa.Text,
            sa.ForeignKey("conversations.conversation_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.CheckConstraint("role IN ('user', 'assistant')", name="ck_messages_role"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_messages_conversation", "messages", ["conversation_id", "id"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("messages")
    op.drop_table("conversations")
    op.drop_table("apps")
