"""Events: what happened, as the agent told it with ``[EVENT:…]`` markers."""

import sqlalchemy as sa
from alembic import op

revision = "ops_004"
down_revision = "ops_003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("service", sa.Text),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.CheckConstraint("level IN ('info', 'warning', 'critical')", name="ck_events_level"),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_events_created", "events", ["created_at"])
    op.create_index("idx_events_session", "events", ["session_id"])
