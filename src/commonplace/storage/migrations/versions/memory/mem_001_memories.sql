CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

CREATE TABLE episodes (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    butler TEXT NOT NULL,
    session_id UUID,
    content TEXT NOT NULL,
    embedding vector(384),
    search_vector tsvector,
    importance DOUBLE PRECISION NOT NULL DEFAULT 5.0,
    reference_count INTEGER NOT NULL DEFAULT 0,
    consolidated BOOLEAN NOT NULL DEFAULT false,
    consolidation_status VARCHAR(20) NOT NULL DEFAULT 'pending',
    retry_count INTEGER NOT NULL DEFAULT 0,
    last_error TEXT,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    last_referenced_at TIMESTAMPTZ,
    expires_at TIMESTAMPTZ DEFAULT (now() + interval '7 days'),
    metadata JSONB NOT NULL DEFAULT '{}'::jsonb,
    CONSTRAINT pk_episodes PRIMARY KEY (id)
);

CREATE TABLE facts (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    subject TEXT NOT NULL,
    predicate TEXT NOT NULL,
    content TEXT NOT NULL,
    embedding vector(384),
    search_vector tsvector,
    importance DOUBLE PRECISION NOT NULL DEFAULT 5.0,
    confidence DOUBLE PRECISION NOT NULL DEFAULT 1.0,
    decay_rate DOUBLE PRECISION NOT NULL DEFAULT 0.008,
    permanence TEXT NOT NULL DEFAULT 'standard',
    source_butler TEXT,
    source_episode_id UUID,
    supersedes_id UUID,
    validity TEXT NOT NULL DEFAULT 'active',
    scope TEXT NOT NULL DEFAULT 'global',
    reference_count INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    last_referenced_at TIMESTAMPTZ,
    last_confirmed_at TIMESTAMPTZ,
    tags JSONB NOT NULL DEFAULT '[]'::jsonb,
    metadata JSONB NOT NULL DEFAULT '{}'::jsonb,
    CONSTRAINT pk_facts PRIMARY KEY (id),
    CONSTRAINT fk_facts_source_episode
        FOREIGN KEY (source_episode_id) REFERENCES episodes (id) ON DELETE SET NULL,
    CONSTRAINT fk_facts_supersedes FOREIGN KEY (supersedes_id) REFERENCES facts (id) ON DELETE SET NULL
);

CREATE TABLE rules (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    content TEXT NOT NULL,
    embedding vector(384),
    search_vector tsvector,
    scope TEXT NOT NULL DEFAULT 'global',
    maturity TEXT NOT NULL DEFAULT 'candidate',
    confidence DOUBLE PRECISION NOT NULL DEFAULT 0.5,
    decay_rate DOUBLE PRECISION NOT NULL DEFAULT 0.008,
    permanence TEXT NOT NULL DEFAULT 'standard',
    effectiveness_score DOUBLE PRECISION NOT NULL DEFAULT 0.0,
    applied_count INTEGER NOT NULL DEFAULT 0,
    success_count INTEGER NOT NULL DEFAULT 0,
    harmful_count INTEGER NOT NULL DEFAULT 0,
    source_episode_id UUID,
    source_butler TEXT,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    last_applied_at TIMESTAMPTZ,
    last_evaluated_at TIMESTAMPTZ,
    last_confirmed_at TIMESTAMPTZ,
    reference_count INTEGER NOT NULL DEFAULT 0,
    last_referenced_at TIMESTAMPTZ,
    tags JSONB NOT NULL DEFAULT '[]'::jsonb,
    metadata JSONB NOT NULL DEFAULT '{}'::jsonb,
    CONSTRAINT pk_rules PRIMARY KEY (id),
    CONSTRAINT fk_rules_source_episode
        FOREIGN KEY (source_episode_id) REFERENCES episodes (id) ON DELETE SET NULL
);

CREATE TABLE memory_links (
    source_type TEXT NOT NULL,
    source_id UUID NOT NULL,
    target_type TEXT NOT NULL,
    target_id UUID NOT NULL,
    relation TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_memory_links PRIMARY KEY (source_type, source_id, target_type, target_id),
    CONSTRAINT ck_memory_links_relation
        CHECK (relation IN ('derived_from', 'supports', 'contradicts', 'supersedes', 'related_to'))
);

CREATE INDEX idx_episodes_butler_created ON episodes (butler, created_at DESC);
CREATE INDEX idx_episodes_expires ON episodes (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX idx_episodes_pending ON episodes (butler, created_at) WHERE consolidation_status = 'pending';
CREATE INDEX idx_episodes_search ON episodes USING gin (search_vector);
CREATE INDEX idx_episodes_embedding ON episodes USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20);
CREATE INDEX idx_facts_scope_validity ON facts (scope, validity) WHERE validity = 'active';
CREATE INDEX idx_facts_subject_predicate ON facts (subject, predicate);
CREATE INDEX idx_facts_search ON facts USING gin (search_vector);
CREATE INDEX idx_facts_tags ON facts USING gin (tags);
CREATE INDEX idx_facts_embedding ON facts USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20);
CREATE INDEX idx_rules_scope_maturity ON rules (scope, maturity);
CREATE INDEX idx_rules_search ON rules USING gin (search_vector);
CREATE INDEX idx_rules_embedding ON rules USING ivfflat (embedding vector_cosine_ops) WITH (lists = 20);
CREATE INDEX idx_memory_links_target ON memory_links (target_type, target_id);
