-- name: tune_search()^
-- Settings of this transaction: how widely the index on vectors looks around, that it looks on while a filter
-- leaves too few, and neither compilation nor further processes for statements that take milliseconds: the server
-- starts such processes even for the branch that its size rules out. Planning takes as long as the statement, so each
-- connection plans once; without sequential scans, such a plan holds however many rows are added later. Returns the
-- model whose vectors are compared.
SELECT
  (SELECT model FROM embedding_versions WHERE active) AS model,
  (SELECT version FROM embedding_versions WHERE active) AS version,
  set_config('hnsw.ef_search', '200', true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true),
  set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('enable_seqscan', 'off', true),
  set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true);

-- name: bump_references(fact_ids, rule_ids, now)
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
