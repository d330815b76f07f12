-- The order of commonplace.core.sources, the least trusted first.
CREATE FUNCTION commonplace_trust(source text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_position(ARRAY['web', 'tool', 'document', 'import', 'agent', 'person'], source)
$$;

-- An unset source is that of an agent.
CREATE FUNCTION commonplace_source() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('commonplace.source', true), ''), 'agent')
$$;

CREATE FUNCTION commonplace_weaker(source text, other text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN commonplace_trust(other) < commonplace_trust(source) THEN other ELSE source END
$$;

ALTER TABLE episodes
    ADD COLUMN source TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN trust TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN flags JSONB NOT NULL DEFAULT '[]',
    ADD CONSTRAINT ck_episodes_source CHECK (source IN ('web', 'tool', 'document', 'import', 'agent', 'person')),
    ADD CONSTRAINT ck_episodes_trust CHECK (trust IN ('web', 'tool', 'document', 'import', 'agent', 'person')),
    ADD CONSTRAINT ck_episodes_flags CHECK (jsonb_typeof(flags) = 'array');

ALTER TABLE facts
    ADD COLUMN source TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN trust TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN flags JSONB NOT NULL DEFAULT '[]',
    ADD CONSTRAINT ck_facts_source CHECK (source IN ('web', 'tool', 'document', 'import', 'agent', 'person')),
    ADD CONSTRAINT ck_facts_trust CHECK (trust IN ('web', 'tool', 'document', 'import', 'agent', 'person')),
    ADD CONSTRAINT ck_facts_flags CHECK (jsonb_typeof(flags) = 'array');

ALTER TABLE rules
    ADD COLUMN source TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN trust TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN flags JSONB NOT NULL DEFAULT '[]',
    ADD CONSTRAINT ck_rules_source CHECK (source IN ('web', 'tool', 'document', 'import', 'agent', 'person')),
    ADD CONSTRAINT ck_rules_trust CHECK (trust IN ('web', 'tool', 'document', 'import', 'agent', 'person')),
    ADD CONSTRAINT ck_rules_flags CHECK (jsonb_typeof(flags) = 'array');

-- A fact that contradicts a more trusted one is held until a person decides.
ALTER TABLE facts DROP CONSTRAINT ck_facts_validity;

ALTER TABLE facts ADD CONSTRAINT ck_facts_validity
    CHECK (validity IN ('active', 'superseded', 'expired', 'retracted', 'held'));

CREATE INDEX idx_facts_held ON facts (tenant_id, created_at) WHERE validity = 'held';
CREATE INDEX idx_facts_flagged ON facts (tenant_id, created_at) WHERE flags <> '[]';
CREATE INDEX idx_rules_flagged ON rules (tenant_id, created_at) WHERE flags <> '[]';
