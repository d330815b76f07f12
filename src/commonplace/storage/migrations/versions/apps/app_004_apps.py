"""App memory: apps and conversations, the specified table of memories (APP-01), energy and digests (APP-11).

Revisions ``app_001`` to ``app_003`` belong to development versions; this one creates what they created.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "app_004"
down_revision = None
branch_labels = ("apps",)
depends_on = None

# PostgreSQL has no DATETIME, and its CURRENT_TIMESTAMP is no text.
MOMENT = sa.Text().with_variant(sa.DATETIME(), "sqlite")
NOW = {
    "sqlite": sa.text("CURRENT_TIMESTAMP"),
    "postgresql": sa.text("to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24\\:MI\\:SS.US\"Z\"')"),
}
# PostgreSQL's REAL holds six digits only.
UNITS: TypeEngine[float] = sa.Double[float]().with_variant(sa.REAL[float](), "sqlite")
HAS_CONVERSATION = sa.text("source_conversation_id IS NOT NULL")


def upgrade() -> None:
    """Create the tables and their indexes."""
    _create_conversations()
    _create_memories()
    _create_memory_details()
    _create_energy()
    _create_digests()


def _create_conversations() -> None:
    op.create_table(
        "apps",
        sa.Column("app_id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        # An uninstalled app keeps its row, because deleting the row deletes the app's memories.
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
        # Of the last message: an active conversation in which the user spoke last is unanswered.
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


def _create_memories() -> None:
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
        # Beyond the specification: the user whose space the memory is in.
        sa.Column("user_id", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_app_memories_app_id", "app_memories", ["app_id"])
    op.create_index("idx_app_memories_created_at", "app_memories", ["created_at"])
    op.create_index("idx_app_memories_updated_at", "app_memories", ["updated_at"])
    op.create_index(
        "uq_app_memories_conversation",
        "app_memories",
        ["app_id", "source_conversation_id"],
        unique=True,
        sqlite_where=HAS_CONVERSATION,
        postgresql_where=HAS_CONVERSATION,
    )


def _create_memory_details() -> None:
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


def _create_energy() -> None:
    op.create_table(
        "energy_budget",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("level", UNITS, nullable=False),
        # The moment of that level; energy has been refilling since.
        sa.Column("as_of", sa.Text, nullable=False),
        sa.CheckConstraint("id = 1", name="ck_energy_budget_one_row"),
    )
    op.create_table(
        "energy_ledger",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("operation", sa.Text, nullable=False),
        # No foreign key: spent energy stays in the ledger when an app goes.
        sa.Column("app_id", sa.Text),
        sa.Column("conversation_id", sa.Text),
        sa.Column("units", UNITS, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_energy_ledger_created", "energy_ledger", ["created_at"])


def _create_digests() -> None:
    op.create_table(
        "app_digests",
        sa.Column("app_id", sa.Text, sa.ForeignKey("apps.app_id", ondelete="CASCADE"), primary_key=True),
        sa.Column("conversation_id", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        # The worker that holds the digest, and the end of its claim.
        sa.Column("claim", sa.Text),
        sa.Column("claimed_until", sa.Text),
        # The request itself, if the conversation is not in our tables.
        sa.Column("request", sa.Text),
        sa.Column("queued_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'deferred', 'done')", name="ck_app_digests_state"
        ),
    )
    op.create_index("idx_app_digests_state", "app_digests", ["state", "queued_at"])
