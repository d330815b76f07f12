"""The answers of requests with a key, which are stored in the transaction of their effect."""

import sqlalchemy as sa
from alembic import op

revision = "ops_012"
down_revision = "ops_011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, unless the revision of the other memory in this database has created it."""
    op.create_table(
        "request_answers",
        sa.Column("tenant_id", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("claim", sa.Text, nullable=False),
        # Null if the request did more after this change, and its process died before it had the answer.
        sa.Column("status", sa.Integer),
        sa.Column("media_type", sa.Text, nullable=False, server_default=""),
        sa.Column("location", sa.Text, nullable=False, server_default=""),
        sa.Column("body", sa.Text, nullable=False, server_default=""),
        sa.Column("expires_at", sa.Text, nullable=False),
        if_not_exists=True,
    )
    op.create_index("idx_request_answers_expires", "request_answers", ["expires_at"], if_not_exists=True)


def downgrade() -> None:
    """Drop it."""
    op.drop_table("request_answers", if_exists=True)
