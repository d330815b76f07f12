-- Rows of all tenants are read below: while row-level security is forced, even the owner sees no row.
ALTER TABLE facts NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_events NO FORCE ROW LEVEL SECURITY;
ALTER TABLE facts ADD COLUMN valid_from TIMESTAMPTZ, ADD COLUMN valid_to TIMESTAMPTZ;

-- A fact ends where its successor begins.
UPDATE facts SET valid_to = successor.created_at FROM facts AS successor
WHERE facts.validity = 'superseded' AND successor.tenant_id = facts.tenant_id AND successor.supersedes_id = facts.id;

-- Case and blanks do not make other words.
CREATE FUNCTION commonplace_plain(words text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT lower(regexp_replace(btrim(words), '\s+', ' ', 'g'))
$$;

CREATE TABLE fact_states (
    place BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id TEXT NOT NULL DEFAULT 'default',
    fact_id UUID NOT NULL,
    known_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    validity TEXT NOT NULL,
    scope TEXT NOT NULL,
    predicate TEXT NOT NULL,
    entity_id UUID,
    valid_from TIMESTAMPTZ,
    valid_to TIMESTAMPTZ,
    last_confirmed_at TIMESTAMPTZ,
    CONSTRAINT pk_fact_states PRIMARY KEY (place),
    CONSTRAINT ck_fact_states_tenant CHECK (tenant_id <> ''),
    CONSTRAINT fk_fact_states_fact FOREIGN KEY (tenant_id, fact_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE
);

-- Of older facts two moments are known: when they were stored, and when they left their last state.
INSERT INTO fact_states (
    tenant_id, fact_id, known_at, validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at
)
SELECT tenant_id, id, created_at, 'active', scope, predicate, entity_id, valid_from, NULL, created_at FROM facts
UNION ALL
SELECT tenant_id, id, greatest(created_at, coalesce((
    SELECT max(memory_events.created_at) FROM memory_events
    WHERE memory_events.tenant_id = facts.tenant_id AND about_id = CAST(facts.id AS text)
), now())), validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at FROM facts
WHERE validity <> 'active' OR last_confirmed_at IS DISTINCT FROM created_at;

CREATE INDEX idx_fact_states_fact ON fact_states (tenant_id, fact_id, known_at DESC, place DESC);
CREATE INDEX idx_fact_states_known ON fact_states (tenant_id, known_at);

CREATE FUNCTION commonplace_add_fact_states() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fact_states (
        tenant_id, fact_id, validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at
    )
    SELECT tenant_id, id, validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at FROM arrived;
    RETURN NULL;
END
$$;

CREATE FUNCTION commonplace_keep_fact_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO fact_states (
        tenant_id, fact_id, validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at
    ) VALUES (
        NEW.tenant_id, NEW.id, NEW.validity, NEW.scope, NEW.predicate, NEW.entity_id, NEW.valid_from, NEW.valid_to,
        NEW.last_confirmed_at
    );
    RETURN NULL;
END
$$;

-- A superseded fact ends now, unless the statement says when; a fact that is active again ends as it did before.
CREATE FUNCTION commonplace_end_fact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.validity = 'superseded' AND NEW.valid_to IS NOT DISTINCT FROM OLD.valid_to THEN
        NEW.valid_to = least(NEW.valid_to, greatest(now(), NEW.valid_from));
    ELSIF NEW.validity = 'active' AND OLD.validity = 'superseded' THEN
        NEW.valid_to = (
            SELECT valid_to FROM fact_states
            WHERE tenant_id = NEW.tenant_id AND fact_id = NEW.id AND validity = 'active'
            ORDER BY known_at DESC, place DESC LIMIT 1
        );
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER facts_states_added AFTER INSERT ON facts REFERENCING NEW TABLE AS arrived
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_add_fact_states();

CREATE TRIGGER facts_state_kept
AFTER UPDATE OF validity, scope, predicate, entity_id, valid_from, valid_to, last_confirmed_at ON facts
FOR EACH ROW WHEN (
    (OLD.validity, OLD.scope, OLD.predicate, OLD.entity_id, OLD.valid_from, OLD.valid_to, OLD.last_confirmed_at)
    IS DISTINCT FROM
    (NEW.validity, NEW.scope, NEW.predicate, NEW.entity_id, NEW.valid_from, NEW.valid_to, NEW.last_confirmed_at)
) EXECUTE FUNCTION commonplace_keep_fact_state();

CREATE TRIGGER facts_ended BEFORE UPDATE OF validity ON facts
FOR EACH ROW WHEN (OLD.validity IS DISTINCT FROM NEW.validity) EXECUTE FUNCTION commonplace_end_fact();

CREATE POLICY fact_states_tenant ON fact_states
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));
ALTER TABLE fact_states ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_states FORCE ROW LEVEL SECURITY;

CREATE FUNCTION commonplace_rule_forgotten(rule uuid, metadata jsonb, as_of timestamptz) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN as_of IS NULL THEN (metadata -> 'forgotten') IS NOT DISTINCT FROM 'true' ELSE coalesce((
        SELECT payload -> 'after' -> 'forgotten' = 'true' FROM memory_events
        WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND about_id = CAST(rule AS text)
          AND created_at <= as_of AND payload -> 'after' ? 'forgotten'
        ORDER BY created_at DESC LIMIT 1
    ), false) END
$$;

-- The scope in which a fact was found: as it was known at one moment, and of what was true at another. What was
-- superseded was true until it ended; its confidence no longer counts.
CREATE FUNCTION commonplace_fact_then(
    fact uuid, stored_at timestamptz, confidence double precision, decay_rate double precision,
    as_of timestamptz, valid_at timestamptz, moment timestamptz, least_confidence double precision
) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT state.scope FROM (
        SELECT * FROM fact_states
        WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND fact_id = fact
          AND (as_of IS NULL OR known_at <= as_of)
        ORDER BY known_at DESC, place DESC
        LIMIT 1
    ) AS state
    WHERE CASE
        WHEN valid_at IS NULL THEN state.validity = 'active' AND (state.valid_to IS NULL OR state.valid_to > moment)
        ELSE state.validity IN ('active', 'superseded') AND coalesce(state.valid_from, stored_at) <= valid_at
          AND (state.valid_to IS NULL OR state.valid_to > valid_at)
      END
      AND (
        least_confidence IS NULL OR state.validity = 'superseded'
        OR commonplace_effective_confidence(confidence, decay_rate, state.last_confirmed_at, moment) >= least_confidence
      )
$$;

CREATE TABLE told_apart (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    first_id UUID NOT NULL,
    second_id UUID NOT NULL,
    decided_by TEXT,
    decided_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_told_apart PRIMARY KEY (tenant_id, first_id, second_id),
    CONSTRAINT ck_told_apart_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_told_apart_order CHECK (first_id < second_id)
);

CREATE POLICY told_apart_tenant ON told_apart
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));
ALTER TABLE told_apart ENABLE ROW LEVEL SECURITY;
ALTER TABLE told_apart FORCE ROW LEVEL SECURITY;
ALTER TABLE facts FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_events FORCE ROW LEVEL SECURITY;
