"""What happened stays what happened: an audit stream that only grows, and applications of rules (KNW-30, KNW-33)."""

from alembic import op

revision = "mem_005"
down_revision = "mem_004"
branch_labels = None
depends_on = None

REFUSE = """
CREATE FUNCTION commonplace_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% only grows: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$
"""

REFUSE_CHANGES = """
CREATE TRIGGER memory_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON memory_events
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_refuse_change()
"""

APPLICATIONS = """
CREATE TABLE rule_applications (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    tenant_id TEXT NOT NULL DEFAULT 'default',
    rule_id UUID NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    actor TEXT,
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    context JSONB NOT NULL DEFAULT '{}'::jsonb,
    CONSTRAINT pk_rule_applications PRIMARY KEY (id),
    CONSTRAINT ck_rule_applications_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_rule_applications_outcome CHECK (outcome IN ('helpful', 'harmful')),
    CONSTRAINT fk_rule_applications_rule
        FOREIGN KEY (tenant_id, rule_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE
)
"""

OWN_ROWS = "tenant_id = current_setting('commonplace.tenant_id', true)"

# The unit of work sets the actor beside the tenant, so that no statement can forget it.
ACTOR = "nullif(current_setting('commonplace.actor', true), '')"

STATEMENTS = (
    REFUSE,
    REFUSE_CHANGES,
    APPLICATIONS,
    "CREATE INDEX idx_rule_applications_rule ON rule_applications (tenant_id, rule_id, applied_at DESC)",
    f"CREATE POLICY rule_applications_tenant ON rule_applications USING ({OWN_ROWS}) WITH CHECK ({OWN_ROWS})",
    "ALTER TABLE rule_applications ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE rule_applications FORCE ROW LEVEL SECURITY",
    f"ALTER TABLE rule_applications ALTER COLUMN actor SET DEFAULT {ACTOR}",
    f"ALTER TABLE memory_events ALTER COLUMN actor SET DEFAULT {ACTOR}",
)


def upgrade() -> None:
    """Close the audit stream to changes, and create the table of applications."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Drop the table, and open the stream."""
    op.drop_table("rule_applications")
    op.execute("ALTER TABLE memory_events ALTER COLUMN actor DROP DEFAULT")
    op.execute("DROP TRIGGER memory_events_append_only ON memory_events")
    op.execute("DROP FUNCTION commonplace_refuse_change()")
