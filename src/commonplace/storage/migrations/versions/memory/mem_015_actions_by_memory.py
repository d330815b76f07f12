"""An index that finds the runs of consolidation which stored or confirmed a memory: undoing a run asks for them."""

from alembic import op

revision = "mem_015"
down_revision = "mem_014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the index."""
    op.execute(
        "CREATE INDEX idx_consolidation_actions_memory ON consolidation_actions (tenant_id, memory_id)"
    )


def downgrade() -> None:
    """Remove it."""
    op.execute("DROP INDEX idx_consolidation_actions_memory")
