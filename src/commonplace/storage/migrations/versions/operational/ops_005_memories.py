"""Memories: what the agent learned (OPS-01)."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "ops_005"
down_revision = "ops_004"
branch_labels = None
depends_on = None

# PostgreSQL's REAL holds six digits only.
CONFIDENCE: TypeEngine[float] = sa.Double[float]().with_variant(sa.REAL[float](), "sqlite")


def upgrade() -> None:
    """Create the table and its indexes exactly as the specification gives them."""
    op.create_table(
        "memories",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("service", sa.Text),
        sa.Column("category", sa.Text, nullable=False),
        sa.Column("observation", sa.Text, nullable=False),
        sa.Column("confidence", CONFIDENCE, nullable=False, server_default=sa.text("0.7")),
        sa.Column("active", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.Column("session_id", sa.Integer, sa.ForeignKey("sessions.id")),
        sa.Column("tier", sa.Integer, nullable=False, server_default=sa.text("1")),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_memories_service", "memories", ["service", "active"])
    op.create_index("idx_memories_confidence", "memories", ["confidence", "active"])
    op.create_index("idx_memories_category", "memories", ["category"])
