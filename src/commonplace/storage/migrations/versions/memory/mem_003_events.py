"""The audit stream (KNW-25.7)."""

from alembic import op

revision = "mem_003"
down_revision = "mem_002"
branch_labels = None
depends_on = None

EVENTS = """
CREATE TABLE memory_events (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    event_type TEXT NOT NULL,
    actor TEXT,
    tenant_id TEXT,
    payload JSONB NOT NULL DEFAULT '{}'::jsonb,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_memory_events PRIMARY KEY (id)
)
"""


def upgrade() -> None:
    """Create the table and its indexes."""
    op.execute(EVENTS)
    op.execute("CREATE INDEX idx_memory_events_type ON memory_events (event_type, created_at DESC)")
    op.execute("CREATE INDEX idx_memory_events_tenant ON memory_events (tenant_id, created_at DESC)")
