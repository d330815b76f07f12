"""Second opinions on doubtful pairs: what each call of a model cost, and the calls without a decision on a pair."""

import sqlalchemy as sa
from alembic import op

revision = "ops_010"
down_revision = "ops_009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("reviews", sa.Column("undecided_calls", sa.Integer, nullable=False, server_default="0"))
    # A call is stored before the model is asked, so that a call that is killed counts too.
    op.create_table(
        "second_opinions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("pairs", sa.Integer, nullable=False),
        sa.Column("decided", sa.Integer, nullable=False, server_default="0"),
        sa.Column("tokens", sa.Integer, nullable=False, server_default="0"),
        sa.Column("took_ms", sa.Integer, nullable=False, server_default="0"),
        sa.Column("asked_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_second_opinions_asked", "second_opinions", ["asked_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("second_opinions")
    op.drop_column("reviews", "undecided_calls")
