-- name: tune_search()^
-- returns: Row
-- columns: model str | None, version str | None
-- Tune this transaction for searches, and return the model whose vectors are compared.
SELECT
${tuning};

-- name: set_search_context(tenant_id, actor, source)^
-- returns: Row
-- Set the context of a transaction that only searches, and tune it: set_context and tune_search at once.
SELECT
  set_config('commonplace.tenant_id', :tenant_id, true),
  set_config('commonplace.actor', :actor, true),
  set_config('commonplace.source', :source, true),
${tuning};

-- name: bump_references(fact_ids, rule_ids, now)
-- columns: id UUID, reference_count int, last_referenced_at datetime
-- Counts a reading of facts and rules, and returns their new counts. Rows are locked facts first, each kind by id,
-- so that two readings of the same memories never wait for each other.
WITH known_facts AS MATERIALIZED (
  SELECT id FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id = ANY(CAST(:fact_ids AS uuid[]))
  ORDER BY id
  FOR NO KEY UPDATE
),
read_facts AS (
  UPDATE facts SET reference_count = reference_count + 1, last_referenced_at = :now
  FROM known_facts WHERE facts.id = known_facts.id
  RETURNING facts.id, facts.reference_count, facts.last_referenced_at
),
known_rules AS MATERIALIZED (
  SELECT id FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id = ANY(CAST(:rule_ids AS uuid[]))
    AND (SELECT count(*) FROM read_facts) >= 0
  ORDER BY id
  FOR NO KEY UPDATE
),
read_rules AS (
  UPDATE rules SET reference_count = reference_count + 1, last_referenced_at = :now
  FROM known_rules WHERE rules.id = known_rules.id
  RETURNING rules.id, rules.reference_count, rules.last_referenced_at
)
SELECT id, reference_count, last_referenced_at FROM read_facts
UNION ALL
SELECT id, reference_count, last_referenced_at FROM read_rules;

-- name: facts_until(ids, now, trusts, with_flagged)
-- columns: later_id UUID
-- The facts that hold until some facts begin: of the facts that each superseded, one after another, the one that holds.
-- Past the first 20, no fact is looked for.
WITH RECURSIVE chain (later_id, earlier_id, steps) AS (
  SELECT id, supersedes_id, 1 FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT chain.later_id, facts.supersedes_id, chain.steps + 1
  FROM chain JOIN facts
    ON facts.tenant_id = current_setting('commonplace.tenant_id', true) AND facts.id = chain.earlier_id
  WHERE facts.valid_from > CAST(:now AS timestamptz) AND chain.steps < 20
)
SELECT chain.later_id, ${fact_columns}
FROM chain JOIN facts
  ON facts.tenant_id = current_setting('commonplace.tenant_id', true) AND facts.id = chain.earlier_id
WHERE validity = 'superseded' AND coalesce(valid_from, created_at) <= CAST(:now AS timestamptz)
  AND valid_to > CAST(:now AS timestamptz) AND trust = ANY(CAST(:trusts AS text[]))
  AND (CAST(:with_flagged AS boolean) OR flags = '[]' OR trust = 'person');
