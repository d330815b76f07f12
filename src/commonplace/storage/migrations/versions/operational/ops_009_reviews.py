"""Verdicts that keep every wording: wordings and links in the history, and the queue of doubtful pairs."""

import sqlalchemy as sa
from alembic import op

revision = "ops_009"
down_revision = "ops_008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the two columns and the table; the service "general" becomes no service."""
    op.add_column("memory_changes", sa.Column("wording", sa.Text))
    # No foreign key, as for memory_id: the history of a memory outlives it.
    op.add_column("memory_changes", sa.Column("related_id", sa.Integer))
    op.create_table(
        "reviews",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("old_id", sa.Integer, sa.ForeignKey("memories.id", ondelete="CASCADE"), nullable=False),
        sa.Column("new_id", sa.Integer, sa.ForeignKey("memories.id", ondelete="CASCADE"), nullable=False),
        # Names the two texts, so that a decision holds for the same pair when it comes again.
        sa.Column("pair", sa.Text, nullable=False, unique=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("decided_by", sa.Text),
        sa.Column("explanation", sa.Text, nullable=False, server_default=""),
        # What both memories were before the decision, as JSON by id.
        sa.Column("before", sa.Text),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("decided_at", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_reviews_open", "reviews", ["verdict", "id"])
    op.create_index("idx_reviews_old", "reviews", ["old_id"])
    op.create_index("idx_reviews_new", "reviews", ["new_id"])
    op.execute("UPDATE memories SET service = NULL WHERE lower(service) = 'general'")


def downgrade() -> None:
    """Drop them."""
    op.drop_table("reviews")
    op.drop_column("memory_changes", "related_id")
    op.drop_column("memory_changes", "wording")
