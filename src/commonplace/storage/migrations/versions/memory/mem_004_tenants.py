"""Tenants: every row belongs to one, and row-level security shows it to no other (KNW-29, R-KNW-12).

References go over ``(tenant_id, id)``, because checks of foreign keys see all rows: a plain reference to a guessed
id of another tenant would be accepted.
"""

from alembic import op

revision = "mem_004"
down_revision = "mem_003"
branch_labels = None
depends_on = None

TABLES = ("episodes", "facts", "rules", "memory_links", "entities", "memory_events")

# Columns first, and rows while nothing hides them yet.
COLUMNS = (
    *(
        f"ALTER TABLE {table} ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default'"
        for table in ("episodes", "facts", "rules", "memory_links")
    ),
    "UPDATE memory_events SET tenant_id = 'default' WHERE tenant_id IS NULL",
    "ALTER TABLE memory_events ALTER COLUMN tenant_id SET DEFAULT 'default'",
    "ALTER TABLE memory_events ALTER COLUMN tenant_id SET NOT NULL",
    "ALTER TABLE entities ALTER COLUMN tenant_id SET DEFAULT 'default'",
    # Rows of before had no tenant but their entity's.
    "UPDATE facts SET tenant_id = e.tenant_id FROM entities AS e WHERE e.id = facts.entity_id",
    (
        "UPDATE episodes SET tenant_id = f.tenant_id FROM facts AS f WHERE f.source_episode_id = episodes.id"
        " AND f.entity_id IS NOT NULL"
    ),
    "UPDATE memory_links SET tenant_id = f.tenant_id FROM facts AS f WHERE f.id = memory_links.source_id",
)

# The empty text is what an unset tenant reads as.
CHECKS = tuple(
    f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_tenant CHECK (tenant_id <> '')" for table in TABLES
)

# What belongs together came apart only where one episode served two tenants.
CROSSING = (
    (
        "UPDATE facts SET source_episode_id = NULL FROM episodes AS e"
        " WHERE e.id = facts.source_episode_id AND e.tenant_id <> facts.tenant_id"
    ),
    (
        "UPDATE facts SET supersedes_id = NULL FROM facts AS old"
        " WHERE old.id = facts.supersedes_id AND old.tenant_id <> facts.tenant_id"
    ),
    (
        "UPDATE rules SET source_episode_id = NULL FROM episodes AS e"
        " WHERE e.id = rules.source_episode_id AND e.tenant_id <> rules.tenant_id"
    ),
)

REFERENCES = (
    *(
        f"ALTER TABLE {table} ADD CONSTRAINT uq_{table}_tenant_id UNIQUE (tenant_id, id)"
        for table in ("episodes", "facts", "rules", "entities")
    ),
    (
        "ALTER TABLE facts DROP CONSTRAINT fk_facts_source_episode, DROP CONSTRAINT fk_facts_supersedes,"
        " DROP CONSTRAINT fk_facts_entity"
    ),
    "ALTER TABLE rules DROP CONSTRAINT fk_rules_source_episode",
    (
        "ALTER TABLE facts ADD CONSTRAINT fk_facts_source_episode FOREIGN KEY (tenant_id, source_episode_id)"
        " REFERENCES episodes (tenant_id, id) ON DELETE SET NULL (source_episode_id)"
    ),
    (
        "ALTER TABLE facts ADD CONSTRAINT fk_facts_supersedes FOREIGN KEY (tenant_id, supersedes_id)"
        " REFERENCES facts (tenant_id, id) ON DELETE SET NULL (supersedes_id)"
    ),
    (
        "ALTER TABLE facts ADD CONSTRAINT fk_facts_entity FOREIGN KEY (tenant_id, entity_id)"
        " REFERENCES entities (tenant_id, id) ON DELETE RESTRICT"
    ),
    (
        "ALTER TABLE rules ADD CONSTRAINT fk_rules_source_episode FOREIGN KEY (tenant_id, source_episode_id)"
        " REFERENCES episodes (tenant_id, id) ON DELETE SET NULL (source_episode_id)"
    ),
    # Without these, each deletion of an episode would read all facts and rules.
    (
        "CREATE INDEX idx_facts_source_episode ON facts (tenant_id, source_episode_id)"
        " WHERE source_episode_id IS NOT NULL"
    ),
    "CREATE INDEX idx_facts_supersedes ON facts (tenant_id, supersedes_id) WHERE supersedes_id IS NOT NULL",
    "CREATE INDEX idx_facts_entity ON facts (tenant_id, entity_id) WHERE entity_id IS NOT NULL",
    (
        "CREATE INDEX idx_rules_source_episode ON rules (tenant_id, source_episode_id)"
        " WHERE source_episode_id IS NOT NULL"
    ),
)

INDEXES = {
    "idx_episodes_butler_created": ("episodes (", "butler, created_at DESC)"),
    "idx_episodes_expires": ("episodes (", "expires_at) WHERE expires_at IS NOT NULL"),
    "idx_episodes_pending": ("episodes (", "butler, created_at) WHERE consolidation_status = 'pending'"),
    "idx_facts_scope_validity": ("facts (", "scope, validity) WHERE validity = 'active'"),
    "idx_facts_subject_predicate": ("facts (", "subject, predicate)"),
    "idx_rules_scope_maturity": ("rules (", "scope, maturity)"),
    "idx_memory_events_type": ("memory_events (", "event_type, created_at DESC)"),
    "uq_facts_entity_scope_predicate": (
        "facts (",
        "entity_id, scope, predicate) WHERE entity_id IS NOT NULL AND validity = 'active'",
    ),
    "uq_facts_scope_subject_predicate": (
        "facts (",
        "scope, subject, predicate) WHERE entity_id IS NULL AND validity = 'active'",
    ),
}

PLAIN_REFERENCES = (
    (
        "ALTER TABLE facts ADD CONSTRAINT fk_facts_source_episode FOREIGN KEY (source_episode_id)"
        " REFERENCES episodes (id) ON DELETE SET NULL"
    ),
    (
        "ALTER TABLE facts ADD CONSTRAINT fk_facts_supersedes FOREIGN KEY (supersedes_id)"
        " REFERENCES facts (id) ON DELETE SET NULL"
    ),
    (
        "ALTER TABLE facts ADD CONSTRAINT fk_facts_entity FOREIGN KEY (entity_id)"
        " REFERENCES entities (id) ON DELETE RESTRICT"
    ),
    (
        "ALTER TABLE rules ADD CONSTRAINT fk_rules_source_episode FOREIGN KEY (source_episode_id)"
        " REFERENCES episodes (id) ON DELETE SET NULL"
    ),
)

OWN_ROWS = "tenant_id = current_setting('commonplace.tenant_id', true)"


def upgrade() -> None:
    """Give every row to a tenant, every reference and index a tenant, and hide the rows of the others."""
    for statement in (*COLUMNS, *CHECKS, *CROSSING, *REFERENCES):
        op.execute(statement)
    _rebuild_indexes(leading="tenant_id, ")
    for table in TABLES:
        op.execute(f"CREATE POLICY {table}_tenant ON {table} USING ({OWN_ROWS}) WITH CHECK ({OWN_ROWS})")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")


def downgrade() -> None:
    """Let everything be one tenant's again.

    Raises:
        IntegrityError: Two tenants have an active fact of the same key, which a schema without tenants cannot hold.
    """
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
        op.execute(f"DROP POLICY {table}_tenant ON {table}")
    for table in ("memory_events", "entities"):
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT ck_{table}_tenant")
        op.execute(f"ALTER TABLE {table} ALTER COLUMN tenant_id DROP DEFAULT")
    op.execute("ALTER TABLE memory_events ALTER COLUMN tenant_id DROP NOT NULL")
    _rebuild_indexes(leading="")
    op.execute(
        "ALTER TABLE facts DROP CONSTRAINT fk_facts_entity, DROP CONSTRAINT fk_facts_supersedes,"
        " DROP CONSTRAINT fk_facts_source_episode"
    )
    op.execute("ALTER TABLE rules DROP CONSTRAINT fk_rules_source_episode")
    op.execute("ALTER TABLE entities DROP CONSTRAINT uq_entities_tenant_id")
    # Indexes and constraints that hold the column go with it.
    for table in ("episodes", "facts", "rules", "memory_links"):
        op.execute(f"ALTER TABLE {table} DROP COLUMN tenant_id")
    for statement in PLAIN_REFERENCES:
        op.execute(statement)


def _rebuild_indexes(*, leading: str) -> None:
    for name, (table, rest) in INDEXES.items():
        op.execute(f"DROP INDEX {name}")
        unique = "UNIQUE " if name.startswith("uq_") else ""
        op.execute(f"CREATE {unique}INDEX {name} ON {table}{leading}{rest}")
