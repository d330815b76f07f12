-- A sweep reads its table in pages, by id. Each page is classified by effective confidence. Rows that change state are
-- locked by id, then written with their events. A row that another transaction changed meanwhile is classified again by
-- its new values before it is written.

-- name: sweep_facts(after_id, limit, now, gone, faint)^
-- One page of active facts: expires facts below :gone, marks facts below :faint as fading, and clears the mark of facts
-- that recovered. Returns the number of each, the number read, and the last id.
WITH page AS (
  SELECT
    id, metadata ->> 'status' AS status_before,
    commonplace_effective_confidence(confidence, decay_rate, coalesce(last_confirmed_at, created_at), :now) AS left_over
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id > CAST(:after_id AS uuid)
    AND validity = 'active' AND decay_rate > 0.0
  ORDER BY id
  LIMIT :limit
),
changing AS (
  SELECT facts.id, page.status_before, page.left_over FROM facts JOIN page ON facts.id = page.id
  WHERE CASE
    WHEN page.left_over < :gone THEN true
    WHEN page.left_over < :faint THEN page.status_before IS DISTINCT FROM 'fading'
    ELSE page.status_before = 'fading'
  END
  ORDER BY facts.id
  FOR UPDATE OF facts
),
expired AS (
  UPDATE facts SET validity = 'expired' FROM changing
  WHERE facts.id = changing.id AND changing.left_over < :gone AND facts.validity = 'active'
    AND commonplace_effective_confidence(
      facts.confidence, facts.decay_rate, coalesce(facts.last_confirmed_at, facts.created_at), :now) < :gone
  RETURNING facts.id, changing.left_over, 'fact_expired' AS event_type,
    jsonb_build_object('validity', 'active', 'status', changing.status_before) AS before,
    jsonb_build_object('validity', 'expired', 'status', changing.status_before) AS after
),
fading AS (
  UPDATE facts SET metadata = facts.metadata || '{"status": "fading"}' FROM changing
  WHERE facts.id = changing.id AND changing.left_over >= :gone AND changing.left_over < :faint
    AND facts.validity = 'active' AND (facts.metadata ->> 'status') IS DISTINCT FROM 'fading'
    AND commonplace_effective_confidence(
      facts.confidence, facts.decay_rate, coalesce(facts.last_confirmed_at, facts.created_at), :now) < :faint
  RETURNING facts.id, changing.left_over, 'fact_fading',
    jsonb_build_object('status', changing.status_before), jsonb_build_object('status', 'fading')
),
recovered AS (
  UPDATE facts SET metadata = facts.metadata - 'status' FROM changing
  WHERE facts.id = changing.id AND changing.left_over >= :faint AND facts.validity = 'active'
    AND facts.metadata ->> 'status' = 'fading'
  RETURNING facts.id, changing.left_over, 'fact_recovered',
    jsonb_build_object('status', 'fading'), jsonb_build_object('status', NULL)
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), event_type,
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'effective_confidence', left_over, 'before', before, 'after', after
    )
  FROM (SELECT * FROM expired UNION ALL SELECT * FROM fading UNION ALL SELECT * FROM recovered) AS changes
)
SELECT
  (SELECT count(*) FROM page) AS read,
  (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last_id,
  (SELECT count(*) FROM expired) AS gone,
  (SELECT count(*) FROM fading) AS fading,
  (SELECT count(*) FROM recovered) AS recovered;

-- name: sweep_rules(after_id, limit, now, gone, faint)^
-- One page of rules that are not forgotten, as in sweep_facts; rules below :gone are marked as forgotten.
WITH page AS (
  SELECT
    id, metadata ->> 'status' AS status_before,
    commonplace_effective_confidence(confidence, decay_rate, coalesce(last_confirmed_at, created_at), :now) AS left_over
  FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id > CAST(:after_id AS uuid)
    AND (metadata -> 'forgotten') IS DISTINCT FROM 'true' AND decay_rate > 0.0
  ORDER BY id
  LIMIT :limit
),
changing AS (
  SELECT rules.id, page.status_before, page.left_over FROM rules JOIN page ON rules.id = page.id
  WHERE CASE
    WHEN page.left_over < :gone THEN true
    WHEN page.left_over < :faint THEN page.status_before IS DISTINCT FROM 'fading'
    ELSE page.status_before = 'fading'
  END
  ORDER BY rules.id
  FOR UPDATE OF rules
),
expired AS (
  UPDATE rules SET metadata = rules.metadata || '{"forgotten": true}' FROM changing
  WHERE rules.id = changing.id AND changing.left_over < :gone
    AND (rules.metadata -> 'forgotten') IS DISTINCT FROM 'true' AND commonplace_effective_confidence(
      rules.confidence, rules.decay_rate, coalesce(rules.last_confirmed_at, rules.created_at), :now) < :gone
  RETURNING rules.id, changing.left_over, 'rule_expired' AS event_type,
    jsonb_build_object('forgotten', false, 'status', changing.status_before) AS before,
    jsonb_build_object('forgotten', true, 'status', changing.status_before) AS after
),
fading AS (
  UPDATE rules SET metadata = rules.metadata || '{"status": "fading"}' FROM changing
  WHERE rules.id = changing.id AND changing.left_over >= :gone AND changing.left_over < :faint
    AND (rules.metadata ->> 'status') IS DISTINCT FROM 'fading'
    AND (rules.metadata -> 'forgotten') IS DISTINCT FROM 'true'
    AND commonplace_effective_confidence(
      rules.confidence, rules.decay_rate, coalesce(rules.last_confirmed_at, rules.created_at), :now) < :faint
  RETURNING rules.id, changing.left_over, 'rule_fading',
    jsonb_build_object('status', changing.status_before), jsonb_build_object('status', 'fading')
),
recovered AS (
  UPDATE rules SET metadata = rules.metadata - 'status' FROM changing
  WHERE rules.id = changing.id AND changing.left_over >= :faint AND rules.metadata ->> 'status' = 'fading'
  RETURNING rules.id, changing.left_over, 'rule_recovered',
    jsonb_build_object('status', 'fading'), jsonb_build_object('status', NULL)
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), event_type,
    jsonb_build_object(
      'memory_type', 'rule', 'memory_id', id, 'effective_confidence', left_over, 'before', before, 'after', after
    )
  FROM (SELECT * FROM expired UNION ALL SELECT * FROM fading UNION ALL SELECT * FROM recovered) AS changes
)
SELECT
  (SELECT count(*) FROM page) AS read,
  (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last_id,
  (SELECT count(*) FROM expired) AS gone,
  (SELECT count(*) FROM fading) AS fading,
  (SELECT count(*) FROM recovered) AS recovered;
