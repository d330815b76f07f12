-- Whether a model reads only the beginning of a text. A letter of a script other than Latin is a token of its own, so it
-- counts 3 to 7 times; see commonplace.knowledge.rules.passages, which has the same number.
CREATE FUNCTION commonplace_is_long(content text) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT 2 * octet_length(content) - length(content) > 900
$$;

-- Half precision is what the graph needs, keeps a row within its page, and changes no cosine by more than 0.0001. A text
-- that changes loses its passages; a memory that is deleted does by its foreign key.
CREATE FUNCTION commonplace_remove_passages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('DELETE FROM %I WHERE tenant_id = $1 AND memory_id = $2', TG_ARGV[0]) USING OLD.tenant_id, OLD.id;
    RETURN NULL;
END
$$;

-- Passages of episodes. The index on episodes finds the long ones: those of a small scope to compare them, and those without
-- passages to make them.
CREATE TABLE episode_passages (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    memory_id UUID NOT NULL,
    place SMALLINT NOT NULL,
    start_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    embedding halfvec(384) NOT NULL,
    CONSTRAINT pk_episode_passages PRIMARY KEY (tenant_id, memory_id, place),
    CONSTRAINT ck_episode_passages_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_episode_passages_chars CHECK (start_char >= 0 AND end_char > start_char),
    CONSTRAINT fk_episode_passages_memory FOREIGN KEY (tenant_id, memory_id) REFERENCES episodes (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX idx_episode_passages_embedding ON episode_passages
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 12, ef_construction = 32);

CREATE INDEX idx_episodes_long ON episodes (tenant_id, butler, id) WHERE commonplace_is_long(content);

CREATE TRIGGER episodes_text_changed AFTER UPDATE OF content ON episodes
FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION commonplace_remove_passages('episode_passages');

CREATE POLICY episode_passages_tenant ON episode_passages
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));

ALTER TABLE episode_passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE episode_passages FORCE ROW LEVEL SECURITY;

-- Passages of facts. The index on facts finds the long ones: those of a small scope to compare them, and those without
-- passages to make them.
CREATE TABLE fact_passages (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    memory_id UUID NOT NULL,
    place SMALLINT NOT NULL,
    start_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    embedding halfvec(384) NOT NULL,
    CONSTRAINT pk_fact_passages PRIMARY KEY (tenant_id, memory_id, place),
    CONSTRAINT ck_fact_passages_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_fact_passages_chars CHECK (start_char >= 0 AND end_char > start_char),
    CONSTRAINT fk_fact_passages_memory FOREIGN KEY (tenant_id, memory_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX idx_fact_passages_embedding ON fact_passages
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 12, ef_construction = 32);

CREATE INDEX idx_facts_long ON facts (tenant_id, scope, id) WHERE commonplace_is_long(content);

CREATE TRIGGER facts_text_changed AFTER UPDATE OF content ON facts
FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION commonplace_remove_passages('fact_passages');

CREATE POLICY fact_passages_tenant ON fact_passages
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));

ALTER TABLE fact_passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_passages FORCE ROW LEVEL SECURITY;

-- Passages of rules. The index on rules finds the long ones: those of a small scope to compare them, and those without
-- passages to make them.
CREATE TABLE rule_passages (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    memory_id UUID NOT NULL,
    place SMALLINT NOT NULL,
    start_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    embedding halfvec(384) NOT NULL,
    CONSTRAINT pk_rule_passages PRIMARY KEY (tenant_id, memory_id, place),
    CONSTRAINT ck_rule_passages_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_rule_passages_chars CHECK (start_char >= 0 AND end_char > start_char),
    CONSTRAINT fk_rule_passages_memory FOREIGN KEY (tenant_id, memory_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX idx_rule_passages_embedding ON rule_passages
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 12, ef_construction = 32);

CREATE INDEX idx_rules_long ON rules (tenant_id, scope, id) WHERE commonplace_is_long(content);

CREATE TRIGGER rules_text_changed AFTER UPDATE OF content ON rules
FOR EACH ROW WHEN (OLD.content IS DISTINCT FROM NEW.content) EXECUTE FUNCTION commonplace_remove_passages('rule_passages');

CREATE POLICY rule_passages_tenant ON rule_passages
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));

ALTER TABLE rule_passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE rule_passages FORCE ROW LEVEL SECURITY;
