"""Lists for people are read from an index, a page at a time, and so is what the audit stream says of one memory.

Row-level security lets no expression on a JSON document be looked up in an index, so what an entry is about becomes
columns, which the database fills.
"""

from alembic import op

revision = "mem_013"
down_revision = "mem_012"
branch_labels = None
depends_on = None

MEMORIES = ("episodes", "facts", "rules")

ABOUT = """
ALTER TABLE memory_events
    ADD COLUMN about_id TEXT GENERATED ALWAYS AS (
        coalesce(payload ->> 'memory_id', payload ->> 'entity_id', payload ->> 'source_entity_id')
    ) STORED,
    ADD COLUMN merged_into_id TEXT GENERATED ALWAYS AS (payload ->> 'target_entity_id') STORED,
    ADD COLUMN run_id TEXT GENERATED ALWAYS AS (payload ->> 'run_id') STORED
"""

INDEXES = {
    "idx_memory_events_about": "memory_events (tenant_id, about_id) WHERE about_id IS NOT NULL",
    "idx_memory_events_merged": "memory_events (tenant_id, merged_into_id) WHERE merged_into_id IS NOT NULL",
    "idx_memory_events_run": "memory_events (tenant_id, run_id) WHERE run_id IS NOT NULL",
}


def upgrade() -> None:
    """Add the columns and the indexes."""
    for table in MEMORIES:
        op.execute(f"CREATE INDEX idx_{table}_listed ON {table} (tenant_id, created_at DESC, id)")
    op.execute(ABOUT)
    for name, place in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {place}")


def downgrade() -> None:
    """Drop them."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute(
        "ALTER TABLE memory_events DROP COLUMN about_id, DROP COLUMN merged_into_id, DROP COLUMN run_id"
    )
    for table in MEMORIES:
        op.execute(f"DROP INDEX idx_{table}_listed")
