"""Facts are counted by their state from indexes, which hold a hundredth of what their rows do."""

from alembic import op

revision = "mem_015"
down_revision = "mem_014"
branch_labels = None
depends_on = None

INDEXES = {
    "idx_facts_counted": "facts (tenant_id, validity, scope)",
    "idx_facts_fading": (
        "facts (tenant_id, scope) WHERE validity = 'active' AND metadata ->> 'status' = 'fading'"
    ),
}


def upgrade() -> None:
    """Add the indexes."""
    for name, place in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {place}")


def downgrade() -> None:
    """Drop them."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
