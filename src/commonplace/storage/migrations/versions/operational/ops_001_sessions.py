"""Sessions of the scheduled agent, with the health checks they made and the cooldown actions they took."""

import sqlalchemy as sa
from alembic import op

revision = "ops_001"
down_revision = None
branch_labels = ("operational",)
depends_on = None


def upgrade() -> None:
    """Create the tables of the host that the specification assumes (OPS-20)."""
    op.create_table(
        "sessions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("tier", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("status", sa.Text, nullable=False, server_default="running"),
        sa.Column("model", sa.Text),
        sa.Column("started_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text),
        sa.Column("exit_code", sa.Integer),
        sa.CheckConstraint("tier BETWEEN 1 AND 3", name="ck_sessions_tier"),
        sa.CheckConstraint(
            "status IN ('running', 'completed', 'failed', 'interrupted')", name="ck_sessions_status"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_sessions_started", "sessions", ["started_at"])
    op.create_table(
        "health_checks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("check_type", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("response_time_ms", sa.Integer),
        sa.Column("detail", sa.Text),
        sa.Column("checked_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_health_checks_service", "health_checks", ["service", "checked_at"])
    op.create_table(
        "cooldown_actions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("service", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("tier", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_cooldown_actions_service", "cooldown_actions", ["service", "created_at"])
