"""Who is consolidating which episodes, what each run did, and which tenants there are (KNW-12, KNW-14, R-KNW-4).

A run is one answer of a model to one group of episodes, and one unit in the audit stream. Its actions are rows of their
own, because row-level security lets no index on a JSON document be used, and because undoing a run needs what was
there before.
"""

from alembic import op

revision = "mem_010"
down_revision = "mem_009"
branch_labels = None
depends_on = None

OWN_ROWS = "tenant_id = current_setting('commonplace.tenant_id', true)"

# A leased episode stays pending or failed: whoever asks for its status is told what became of it, not who has it.
LEASES = (
    (
        "ALTER TABLE episodes ADD COLUMN leased_by TEXT, ADD COLUMN leased_until TIMESTAMPTZ,"
        " ADD COLUMN lease_run UUID, ADD COLUMN next_attempt_at TIMESTAMPTZ"
    ),
    (
        "ALTER TABLE episodes ADD CONSTRAINT ck_episodes_lease CHECK"
        " ((lease_run IS NULL) = (leased_until IS NULL) AND (lease_run IS NULL) = (leased_by IS NULL))"
    ),
    (
        "CREATE INDEX idx_episodes_due ON episodes (tenant_id, butler, created_at, insertion_order)"
        " WHERE consolidation_status IN ('pending', 'failed')"
    ),
    "CREATE INDEX idx_episodes_lease_run ON episodes (tenant_id, lease_run) WHERE lease_run IS NOT NULL",
    (
        "CREATE INDEX idx_episodes_dead_letter ON episodes (tenant_id, butler, created_at, insertion_order)"
        " WHERE consolidation_status = 'dead_letter'"
    ),
)

RUNS = """
CREATE TABLE consolidation_runs (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    tenant_id TEXT NOT NULL DEFAULT 'default',
    butler TEXT NOT NULL,
    worker TEXT NOT NULL,
    model TEXT,
    state TEXT NOT NULL DEFAULT 'running',
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    leased_until TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    episode_ids UUID[] NOT NULL,
    facts_created INTEGER NOT NULL DEFAULT 0,
    facts_updated INTEGER NOT NULL DEFAULT 0,
    facts_confirmed INTEGER NOT NULL DEFAULT 0,
    rules_created INTEGER NOT NULL DEFAULT 0,
    rules_confirmed INTEGER NOT NULL DEFAULT 0,
    errors JSONB NOT NULL DEFAULT '[]'::jsonb,
    undone_at TIMESTAMPTZ,
    undone_by TEXT,
    CONSTRAINT pk_consolidation_runs PRIMARY KEY (id),
    CONSTRAINT uq_consolidation_runs_tenant_id UNIQUE (tenant_id, id),
    CONSTRAINT ck_consolidation_runs_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_consolidation_runs_state CHECK (state IN ('running', 'applied', 'failed', 'refused', 'undone')),
    CONSTRAINT ck_consolidation_runs_ended CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT ck_consolidation_runs_undone CHECK ((state = 'undone') = (undone_at IS NOT NULL)),
    CONSTRAINT ck_consolidation_runs_errors CHECK (jsonb_typeof(errors) = 'array')
)
"""

# What undoing needs: which facts were superseded, and when the memory had last been confirmed.
ACTIONS = """
CREATE TABLE consolidation_actions (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    run_id UUID NOT NULL,
    position INTEGER NOT NULL,
    action TEXT NOT NULL,
    memory_id UUID NOT NULL,
    superseded_ids UUID[] NOT NULL DEFAULT '{}',
    confirmed_before TIMESTAMPTZ,
    confirmed_at TIMESTAMPTZ,
    CONSTRAINT pk_consolidation_actions PRIMARY KEY (tenant_id, run_id, position),
    CONSTRAINT ck_consolidation_actions_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_consolidation_actions_action CHECK (
        action IN ('fact_created', 'fact_updated', 'fact_confirmed', 'rule_created', 'rule_confirmed')
    ),
    CONSTRAINT fk_consolidation_actions_run
        FOREIGN KEY (tenant_id, run_id) REFERENCES consolidation_runs (tenant_id, id) ON DELETE CASCADE
)
"""

RUN_INDEXES = (
    # Whatever a program does: no two runs of one butler's episodes at once.
    (
        "CREATE UNIQUE INDEX uq_consolidation_runs_running ON consolidation_runs (tenant_id, butler)"
        " WHERE state = 'running'"
    ),
    "CREATE INDEX idx_consolidation_runs_started ON consolidation_runs (tenant_id, started_at DESC)",
)

# As the actor is: the transaction says which run it is, and no statement can forget it.
NAME_RUN = """
CREATE FUNCTION commonplace_name_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.payload = NEW.payload || jsonb_build_object('run_id', current_setting('commonplace.run_id'));
    RETURN NEW;
END
$$
"""

NAME_RUN_IN_EVENTS = """
CREATE TRIGGER memory_events_run BEFORE INSERT ON memory_events FOR EACH ROW
WHEN (nullif(current_setting('commonplace.run_id', true), '') IS NOT NULL)
EXECUTE FUNCTION commonplace_name_run()
"""

# Whoever works for all tenants has to know which there are, and does so outside of any tenant's transaction. Inside of
# one, only the tenant itself is seen.
TENANTS = """
CREATE TABLE tenants (
    tenant_id TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_tenants PRIMARY KEY (tenant_id),
    CONSTRAINT ck_tenants_tenant CHECK (tenant_id <> '')
)
"""

NO_TENANT = "nullif(current_setting('commonplace.tenant_id', true), '') IS NULL"

TENANT_POLICIES = (
    f"CREATE POLICY tenants_seen ON tenants FOR SELECT USING ({NO_TENANT} OR {OWN_ROWS})",
    f"CREATE POLICY tenants_noted ON tenants FOR INSERT WITH CHECK ({OWN_ROWS})",
    "ALTER TABLE tenants ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE tenants FORCE ROW LEVEL SECURITY",
)

NOTE_TENANTS = """
CREATE FUNCTION commonplace_note_tenants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tenants (tenant_id) SELECT DISTINCT tenant_id FROM arrived ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$
"""

FILL_TENANTS = """
INSERT INTO tenants (tenant_id)
SELECT tenant_id FROM episodes UNION SELECT tenant_id FROM facts UNION SELECT tenant_id FROM rules
"""

MEMORIES = ("episodes", "facts", "rules")
OWN_TABLES = ("consolidation_runs", "consolidation_actions")


def upgrade() -> None:
    """Add leases, runs and their actions; note the tenants, those that are there and those that come."""
    for statement in (
        *LEASES,
        RUNS,
        ACTIONS,
        *RUN_INDEXES,
        NAME_RUN,
        NAME_RUN_IN_EVENTS,
        TENANTS,
        NOTE_TENANTS,
    ):
        op.execute(statement)
    for table in OWN_TABLES:
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING ({OWN_ROWS}) WITH CHECK ({OWN_ROWS})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    for table in MEMORIES:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(FILL_TENANTS)
    for statement in TENANT_POLICIES:
        op.execute(statement)
    for table in MEMORIES:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE TRIGGER {table}_tenants_noted AFTER INSERT ON {table} REFERENCING NEW TABLE AS arrived"
            " FOR EACH STATEMENT EXECUTE FUNCTION commonplace_note_tenants()"
        )


def downgrade() -> None:
    """Drop them; what the runs made stays, and so do the names of runs in the audit stream."""
    op.execute("DROP FUNCTION commonplace_note_tenants() CASCADE")
    op.drop_table("tenants")
    op.execute("DROP FUNCTION commonplace_name_run() CASCADE")
    for table in reversed(OWN_TABLES):
        op.drop_table(table)
    # The indexes and the check on them go with the columns, but for the index on others.
    op.execute("DROP INDEX idx_episodes_due")
    op.execute("DROP INDEX idx_episodes_dead_letter")
    op.execute(
        "ALTER TABLE episodes DROP COLUMN leased_by, DROP COLUMN leased_until, DROP COLUMN lease_run,"
        " DROP COLUMN next_attempt_at"
    )
