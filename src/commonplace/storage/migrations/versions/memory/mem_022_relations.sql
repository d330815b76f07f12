-- Rows of all tenants are read below: while row-level security is forced, even the owner sees no row.
ALTER TABLE facts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE entities NO FORCE ROW LEVEL SECURITY;

-- Punctuation separates words, so that "Acme Inc." is found in "Anna left Acme, Inc".
CREATE FUNCTION commonplace_spaced(said text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT btrim(regexp_replace(said, '[[:space:][:punct:]]+', ' ', 'g'))
$$;

-- Runs of one to five words, of the first 500 words.
CREATE FUNCTION commonplace_phrases(said text) RETURNS SETOF text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT DISTINCT array_to_string(word[first : first + others], ' ')
    FROM (SELECT string_to_array(commonplace_spaced(said), ' ') AS word) AS split,
        generate_series(1, least(cardinality(word), 500)) AS first, generate_series(0, 4) AS others
    WHERE first + others <= cardinality(word)
$$;

CREATE TABLE entity_names (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    name_key TEXT COLLATE "C" NOT NULL,
    entity_id UUID NOT NULL,
    words TEXT COLLATE "C" NOT NULL,
    is_proper BOOLEAN NOT NULL,
    CONSTRAINT pk_entity_names PRIMARY KEY (tenant_id, name_key, entity_id),
    CONSTRAINT ck_entity_names_tenant CHECK (tenant_id <> ''),
    CONSTRAINT fk_entity_names_entity FOREIGN KEY (tenant_id, entity_id) REFERENCES entities (tenant_id, id)
        ON DELETE CASCADE
);

CREATE INDEX idx_entity_names_words ON entity_names (tenant_id, words);
CREATE INDEX idx_entity_names_entity ON entity_names (tenant_id, entity_id);

-- Names and not entities: a name moves to another entity by a merge, and back.
CREATE TABLE fact_mentions (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    words TEXT COLLATE "C" NOT NULL,
    fact_id UUID NOT NULL,
    CONSTRAINT pk_fact_mentions PRIMARY KEY (tenant_id, words, fact_id),
    CONSTRAINT ck_fact_mentions_tenant CHECK (tenant_id <> ''),
    CONSTRAINT fk_fact_mentions_fact FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, id)
        ON DELETE CASCADE
);

CREATE INDEX idx_fact_mentions_fact ON fact_mentions (tenant_id, fact_id);

INSERT INTO entity_names (tenant_id, name_key, entity_id, words, is_proper)
SELECT DISTINCT tenant_id, name, id, commonplace_spaced(name), left(canonical_name, 1) <> lower(left(canonical_name, 1))
FROM entities, unnest(string_to_array(btrim(name_keys, chr(10)), chr(10))) AS name
WHERE metadata ->> 'merged_into' IS NULL;

INSERT INTO fact_mentions (tenant_id, words, fact_id)
SELECT DISTINCT facts.tenant_id, names.words, facts.id
FROM facts CROSS JOIN LATERAL commonplace_phrases(facts.content) AS phrase
JOIN entity_names AS names ON names.tenant_id = facts.tenant_id AND names.words = lower(phrase)
    AND (NOT names.is_proper OR left(phrase, 1) <> lower(left(phrase, 1)))
WHERE facts.tenant_id IN (SELECT tenant_id FROM entity_names);

-- Names and words are looked up one by one (OFFSET, enable_seqscan): a connection keeps the plan that it made when the
-- tables were small.
CREATE FUNCTION commonplace_add_fact_mentions() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM entity_names WHERE tenant_id = (SELECT tenant_id FROM arrived LIMIT 1)) THEN
        INSERT INTO fact_mentions (tenant_id, words, fact_id)
        SELECT DISTINCT arrived.tenant_id, names.words, arrived.id
        FROM arrived CROSS JOIN LATERAL commonplace_phrases(arrived.content) AS phrase, LATERAL (
            SELECT words, is_proper FROM entity_names
            WHERE tenant_id = arrived.tenant_id AND words = lower(phrase)
            OFFSET 0
        ) AS names
        WHERE NOT names.is_proper OR left(phrase, 1) <> lower(left(phrase, 1))
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER facts_mentions_added AFTER INSERT ON facts REFERENCING NEW TABLE AS arrived
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_add_fact_mentions();

-- Of a new name, the facts with its longest word are read again.
CREATE FUNCTION commonplace_keep_entity_names() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM entity_names
    WHERE tenant_id = NEW.tenant_id AND entity_id = NEW.id AND (
        NEW.metadata ->> 'merged_into' IS NOT NULL
        OR strpos(coalesce(NEW.name_keys, ''), chr(10) || name_key || chr(10)) = 0
    );
    IF NEW.metadata ->> 'merged_into' IS NOT NULL THEN
        RETURN NULL;
    END IF;
    WITH added AS (
        INSERT INTO entity_names (tenant_id, name_key, entity_id, words, is_proper)
        SELECT DISTINCT NEW.tenant_id, name, NEW.id, commonplace_spaced(name),
            left(NEW.canonical_name, 1) <> lower(left(NEW.canonical_name, 1))
        FROM unnest(string_to_array(btrim(NEW.name_keys, chr(10)), chr(10))) AS name
        ON CONFLICT DO NOTHING
        RETURNING words, is_proper
    ),
    sought AS (
        SELECT words, is_proper, (
            SELECT lexeme FROM unnest(to_tsvector('pg_catalog.english', words))
            ORDER BY length(lexeme) DESC, lexeme LIMIT 1
        ) AS word
        FROM added
    )
    INSERT INTO fact_mentions (tenant_id, words, fact_id)
    SELECT DISTINCT NEW.tenant_id, sought.words, facts.id
    FROM sought, LATERAL (
        SELECT memory_id FROM fact_words WHERE tenant_id = NEW.tenant_id AND word = sought.word OFFSET 0
    ) AS held, LATERAL (
        SELECT id, content FROM facts WHERE tenant_id = NEW.tenant_id AND id = held.memory_id OFFSET 0
    ) AS facts
    WHERE EXISTS (
        SELECT FROM commonplace_phrases(facts.content) AS phrase
        WHERE lower(phrase) = sought.words AND (NOT sought.is_proper OR left(phrase, 1) <> lower(left(phrase, 1)))
    )
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE TRIGGER entities_names_kept AFTER INSERT OR UPDATE OF canonical_name, name_keys, metadata ON entities
FOR EACH ROW EXECUTE FUNCTION commonplace_keep_entity_names();

-- A name that two entities share tells of none, and neither does a name inside of a longer one.
CREATE FUNCTION commonplace_mentioned(fact uuid) RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
    WITH named AS (
        SELECT mention.words, name.entity_id
        FROM fact_mentions AS mention
        JOIN entity_names AS name ON name.tenant_id = mention.tenant_id AND name.words = mention.words
        WHERE mention.tenant_id = current_setting('commonplace.tenant_id', true) AND mention.fact_id = fact
    )
    SELECT DISTINCT CAST(min(CAST(entity_id AS text)) AS uuid)
    FROM named
    WHERE NOT EXISTS (
        SELECT FROM named AS longer
        WHERE longer.words <> named.words AND strpos(' ' || longer.words || ' ', ' ' || named.words || ' ') > 0
    )
    GROUP BY words
    HAVING count(DISTINCT entity_id) = 1
$$;

ALTER TABLE facts FORCE ROW LEVEL SECURITY;
ALTER TABLE entities FORCE ROW LEVEL SECURITY;
CREATE POLICY entity_names_tenant ON entity_names
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));
ALTER TABLE entity_names ENABLE ROW LEVEL SECURITY;
ALTER TABLE entity_names FORCE ROW LEVEL SECURITY;
CREATE POLICY fact_mentions_tenant ON fact_mentions
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));
ALTER TABLE fact_mentions ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_mentions FORCE ROW LEVEL SECURITY;
