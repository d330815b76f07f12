"""Answers of requests under the keys that clients chose, for requests that are repeated."""

from alembic import op

revision = "mem_026"
down_revision = "mem_021"
branch_labels = None
depends_on = None

OWN_ROWS = "tenant_id = current_setting('commonplace.tenant_id', true)"

STATEMENTS = (
    """
CREATE TABLE kept_answers (
    tenant_id TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    claim UUID NOT NULL,
    claimed_until TIMESTAMPTZ NOT NULL,
    applied_at TIMESTAMPTZ,
    status INTEGER,
    media_type TEXT NOT NULL DEFAULT '',
    location TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL DEFAULT '',
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_kept_answers PRIMARY KEY (tenant_id, key),
    CONSTRAINT ck_kept_answers_tenant CHECK (tenant_id <> '')
)
""",
    "CREATE INDEX idx_kept_answers_expires ON kept_answers (tenant_id, expires_at)",
    f"CREATE POLICY kept_answers_tenant ON kept_answers USING ({OWN_ROWS}) WITH CHECK ({OWN_ROWS})",
    "ALTER TABLE kept_answers ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE kept_answers FORCE ROW LEVEL SECURITY",
)


def upgrade() -> None:
    """Create the table."""
    for statement in STATEMENTS:
        op.execute(statement)
