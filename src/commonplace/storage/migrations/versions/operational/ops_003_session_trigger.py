"""Columns for the trigger and the prompt of a session."""

import sqlalchemy as sa
from alembic import op

revision = "ops_003"
down_revision = "ops_002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns; sessions that are there were scheduled."""
    op.add_column("sessions", sa.Column("trigger", sa.Text, nullable=False, server_default="scheduled"))
    op.add_column("sessions", sa.Column("prompt_text", sa.Text))
