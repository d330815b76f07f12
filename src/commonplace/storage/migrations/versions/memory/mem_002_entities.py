"""Entities, and the keys by which a fact is unique (KNW-16, KNW-25.4, KNW-25.6)."""

from alembic import op

from commonplace.storage.migrations.extensions import create_where_available

revision = "mem_002"
down_revision = "mem_001"
branch_labels = None
depends_on = None

ENTITIES = """
CREATE TABLE entities (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    tenant_id TEXT NOT NULL,
    canonical_name VARCHAR NOT NULL,
    entity_type VARCHAR NOT NULL,
    aliases TEXT[] NOT NULL DEFAULT '{}',
    metadata JSONB NOT NULL DEFAULT '{}'::jsonb,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_entities PRIMARY KEY (id),
    CONSTRAINT uq_entities_name UNIQUE (tenant_id, canonical_name, entity_type),
    CONSTRAINT ck_entities_type CHECK (entity_type IN ('person', 'organization', 'place', 'other'))
)
"""

# Facts of a key that was stored twice before there was a unique index: the newest stays active.
KEEP_NEWEST = """
UPDATE facts SET validity = 'superseded'
FROM (
    SELECT id, row_number() OVER (
        PARTITION BY scope, subject, predicate ORDER BY created_at DESC, id
    ) AS age
    FROM facts WHERE validity = 'active'
) AS ranked
WHERE facts.id = ranked.id AND ranked.age > 1
"""

REFERENCE = """
ALTER TABLE facts
    ADD COLUMN entity_id UUID,
    ADD CONSTRAINT fk_facts_entity FOREIGN KEY (entity_id) REFERENCES entities (id) ON DELETE RESTRICT
"""

UNIQUE_BY_ENTITY = """
CREATE UNIQUE INDEX uq_facts_entity_scope_predicate ON facts (entity_id, scope, predicate)
WHERE entity_id IS NOT NULL AND validity = 'active'
"""

UNIQUE_BY_SUBJECT = """
CREATE UNIQUE INDEX uq_facts_scope_subject_predicate ON facts (scope, subject, predicate)
WHERE entity_id IS NULL AND validity = 'active'
"""

INDEXES = (
    "CREATE INDEX idx_entities_tenant_name ON entities (tenant_id, canonical_name)",
    "CREATE INDEX idx_entities_aliases ON entities USING gin (aliases)",
    "CREATE INDEX idx_entities_metadata ON entities USING gin (metadata)",
    UNIQUE_BY_ENTITY,
    UNIQUE_BY_SUBJECT,
)


def upgrade() -> None:
    """Create the table, let facts refer to it, and make one active fact a key the rule."""
    create_where_available("pg_trgm")
    for statement in (ENTITIES, KEEP_NEWEST, REFERENCE, *INDEXES):
        op.execute(statement)
