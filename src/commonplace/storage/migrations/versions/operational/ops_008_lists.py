"""Lists of memories and events are read in their order from an index, a page at a time, however deep the page."""

from alembic import op

revision = "ops_008"
down_revision = "ops_007"
branch_labels = None
depends_on = None

# What lists filter by stands last, so that a row is looked up only when it is on the page.
INDEXES = {
    "idx_memories_by_service": (
        "memories ((service IS NULL), lower(service), confidence DESC, id DESC, active, category)"
    ),
    "idx_memories_by_confidence": "memories (confidence DESC, updated_at DESC, id DESC, active, category)",
    "idx_memories_by_recency": "memories (updated_at DESC, id DESC, active, category)",
    "idx_memories_created": "memories (created_at)",
    "idx_events_level": "events (level, created_at DESC, id DESC)",
}


def upgrade() -> None:
    """Add the indexes."""
    for name, place in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {place}")


def downgrade() -> None:
    """Drop them."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
