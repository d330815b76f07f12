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
);

-- Facts of a key that was stored twice before there was a unique index: the newest stays active.
UPDATE facts SET validity = 'superseded'
FROM (
    SELECT id, row_number() OVER (
        PARTITION BY scope, subject, predicate ORDER BY created_at DESC, id
    ) AS age
    FROM facts WHERE validity = 'active'
) AS ranked
WHERE facts.id = ranked.id AND ranked.age > 1;

ALTER TABLE facts
    ADD COLUMN entity_id UUID,
    ADD CONSTRAINT fk_facts_entity FOREIGN KEY (entity_id) REFERENCES entities (id) ON DELETE RESTRICT;

CREATE INDEX idx_entities_tenant_name ON entities (tenant_id, canonical_name);
CREATE INDEX idx_entities_aliases ON entities USING gin (aliases);
CREATE INDEX idx_entities_metadata ON entities USING gin (metadata);

CREATE UNIQUE INDEX uq_facts_entity_scope_predicate ON facts (entity_id, scope, predicate)
WHERE entity_id IS NOT NULL AND validity = 'active';

CREATE UNIQUE INDEX uq_facts_scope_subject_predicate ON facts (scope, subject, predicate)
WHERE entity_id IS NULL AND validity = 'active';
