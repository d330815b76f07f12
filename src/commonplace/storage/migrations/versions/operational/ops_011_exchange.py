"""What sync needs: how much confidence decay took, and how often other devices reinforced and contradicted a memory."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "ops_011"
down_revision = "ops_010"
branch_labels = None
depends_on = None

LOSS_PER_WEEK = 0.1

CONFIDENCE: TypeEngine[float] = sa.Double[float]().with_variant(sa.REAL[float](), "sqlite")


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("memory_decay", sa.Column("lost", CONFIDENCE, nullable=False, server_default=sa.text("0")))
    op.execute(f"UPDATE memory_decay SET lost = {LOSS_PER_WEEK} * weeks_charged")  # noqa: S608 - a constant
    op.create_table(
        "memory_counts",
        sa.Column(
            "memory_id", sa.Integer, sa.ForeignKey("memories.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("reinforced", sa.Integer, nullable=False),
        sa.Column("contradicted", sa.Integer, nullable=False),
        # The name of the memory that corrected it last, as of a change in its history; a later one counts more.
        sa.Column("corrected_by", sa.Text),
        sa.Column("known_until", sa.Integer, nullable=False),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_table("memory_counts")
    op.drop_column("memory_decay", "lost")
