ALTER TABLE consolidation_runs
    ADD COLUMN facts_retracted INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN rules_updated INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN rules_retracted INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN notes JSONB NOT NULL DEFAULT '[]'::jsonb,
    ADD CONSTRAINT ck_consolidation_runs_notes CHECK (jsonb_typeof(notes) = 'array');

ALTER TABLE consolidation_actions DROP CONSTRAINT ck_consolidation_actions_action;

ALTER TABLE consolidation_actions ADD CONSTRAINT ck_consolidation_actions_action CHECK (
    action IN (
        'fact_created', 'fact_updated', 'fact_confirmed', 'fact_retracted',
        'rule_created', 'rule_updated', 'rule_confirmed', 'rule_retracted'
    )
);

-- The name of a pair of texts: case and blanks do not count.
CREATE FUNCTION commonplace_fact_pair(subject text, predicate text, old_content text, new_content text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT md5(lower(regexp_replace(
        concat_ws(chr(31), subject, predicate, btrim(old_content), btrim(new_content)), '\s+', ' ', 'g'
    )))
$$;

-- A new fact of a run superseded an old one that matters: a person may decide that both hold. The text of the pair
-- names it, so that a decision also holds when a later run proposes the same pair.
CREATE TABLE fact_reviews (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    tenant_id TEXT NOT NULL DEFAULT 'default',
    run_id UUID NOT NULL,
    old_id UUID NOT NULL,
    new_id UUID NOT NULL,
    pair TEXT NOT NULL,
    predicate TEXT NOT NULL,
    reason TEXT NOT NULL,
    decision TEXT,
    decided_by TEXT,
    decided_at TIMESTAMPTZ,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_fact_reviews PRIMARY KEY (id),
    CONSTRAINT uq_fact_reviews_facts UNIQUE (tenant_id, old_id, new_id),
    CONSTRAINT ck_fact_reviews_tenant CHECK (tenant_id <> ''),
    CONSTRAINT ck_fact_reviews_decision CHECK (decision IN ('same', 'refines', 'corrects', 'distinct')),
    CONSTRAINT ck_fact_reviews_decided CHECK ((decision IS NULL) = (decided_at IS NULL)),
    CONSTRAINT fk_fact_reviews_run
        FOREIGN KEY (tenant_id, run_id) REFERENCES consolidation_runs (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT fk_fact_reviews_old FOREIGN KEY (tenant_id, old_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT fk_fact_reviews_new FOREIGN KEY (tenant_id, new_id) REFERENCES facts (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX idx_fact_reviews_pair ON fact_reviews (tenant_id, pair);
CREATE POLICY fact_reviews_tenant ON fact_reviews
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));
ALTER TABLE fact_reviews ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_reviews FORCE ROW LEVEL SECURITY;
