"""The names of an entity as they are searched, folded (KNW-17, R-KNW-10).

Rows of before hold none; they are folded when they are read, until something changes them.
"""

from alembic import op

revision = "mem_008"
down_revision = "mem_007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, and find the rows without it at once."""
    op.execute("ALTER TABLE entities ADD COLUMN name_keys TEXT")
    op.execute("CREATE INDEX idx_entities_unfolded ON entities (tenant_id) WHERE name_keys IS NULL")


def downgrade() -> None:
    """Drop it; it is made of other columns."""
    op.execute("ALTER TABLE entities DROP COLUMN name_keys")
