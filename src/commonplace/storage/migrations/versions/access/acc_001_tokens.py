"""Tokens that let people and programs in, and the logins of browsers that were made with one."""

import sqlalchemy as sa
from alembic import op

revision = "acc_001"
down_revision = None
branch_labels = ("access",)
depends_on = None


def upgrade() -> None:
    """Create both tables."""
    op.create_table(
        "access_tokens",
        sa.Column("id", sa.Integer, primary_key=True),
        # SHA-256 in hexadecimal; the token itself is nowhere.
        sa.Column("hash", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("tenant_id", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text),
        sa.Column("last_used_at", sa.Text),
        # A revoked token keeps its row, so that the audit trail's names keep their meaning.
        sa.Column("revoked_at", sa.Text),
        sa.CheckConstraint("role IN ('reader', 'writer', 'admin')", name="ck_access_tokens_role"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "access_logins",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column(
            "token_id", sa.Integer, sa.ForeignKey("access_tokens.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("expires_at", sa.Text, nullable=False),
    )
    op.create_index("idx_access_logins_expires", "access_logins", ["expires_at"])
