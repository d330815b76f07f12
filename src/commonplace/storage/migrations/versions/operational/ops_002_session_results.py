"""Columns for a session's result line: the answer, the cost, the turns, the time."""

import sqlalchemy as sa
from alembic import op

revision = "ops_002"
down_revision = "ops_001"
branch_labels = None
depends_on = None

COLUMNS = (
    ("response", sa.Text),
    ("cost_usd", sa.Float),
    ("num_turns", sa.Integer),
    ("duration_ms", sa.Integer),
)


def upgrade() -> None:
    """Add the columns; sessions that are there have none of it."""
    for name, kind in COLUMNS:
        op.add_column("sessions", sa.Column(name, kind))
