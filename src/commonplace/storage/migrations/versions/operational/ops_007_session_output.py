"""What a session shows while it runs, and which process records it."""

import sqlalchemy as sa
from alembic import op

revision = "ops_007"
down_revision = "ops_006"
branch_labels = None
depends_on = None

RECORDER = (
    ("recorder_host", sa.Text),
    ("recorder_pid", sa.Integer),
    ("recorder_started_at", sa.Text),
    # Written again and again while the session runs.
    ("seen_at", sa.Text),
)


def upgrade() -> None:
    """Create the table and add the columns; of sessions that are there, nobody knows who recorded them."""
    op.create_table(
        "session_output",
        sa.Column(
            "session_id", sa.Integer, sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True
        ),
        # Counts from 1 in each session.
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        # Tells a line that is read again from one that says the same.
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
    )
    op.create_index(
        "uq_session_output_fingerprint", "session_output", ["session_id", "fingerprint"], unique=True
    )
    for name, kind in RECORDER:
        op.add_column("sessions", sa.Column(name, kind))
    op.create_index("idx_sessions_status", "sessions", ["status"])


def downgrade() -> None:
    """Drop them."""
    op.drop_index("idx_sessions_status", "sessions")
    for name, _ in RECORDER:
        op.drop_column("sessions", name)
    op.drop_table("session_output")
