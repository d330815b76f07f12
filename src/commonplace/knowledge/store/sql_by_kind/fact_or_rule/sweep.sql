-- class: KindStatements
-- The decay sweep of facts or rules. ${expire} changes a row below :gone, ${before} and ${after} are that change in its event.
--
-- A sweep reads its table in pages, by id. Each page is classified by effective confidence. Rows that change state are
-- locked by id, then written with their events. A row that another transaction changed meanwhile is classified again by
-- its new values before it is written.

-- name: sweep(after_id, limit, now, gone, faint)^
-- returns: Row
-- columns: read int, last_id UUID | None, gone int, fading int, recovered int
-- One page of rows: expires rows below :gone, marks rows below :faint as fading, and clears the mark of rows that
-- recovered. Returns the number of each, the number read, and the last id.
WITH page AS (
  SELECT
    id, metadata ->> 'status' AS status_before,
    commonplace_effective_confidence(confidence, decay_rate, coalesce(last_confirmed_at, created_at), :now) AS left_over
  FROM ${memories}
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id > CAST(:after_id AS uuid)
    AND ${lives} AND decay_rate > 0.0
  ORDER BY id
  LIMIT :limit
),
changing AS (
  SELECT m.id, page.status_before, page.left_over FROM ${memories} AS m JOIN page ON m.id = page.id
  WHERE CASE
    WHEN page.left_over < :gone THEN true
    WHEN page.left_over < :faint THEN page.status_before IS DISTINCT FROM 'fading'
    ELSE page.status_before = 'fading'
  END
  ORDER BY m.id
  FOR UPDATE OF m
),
expired AS (
  UPDATE ${memories} AS m SET ${expire} FROM changing
  WHERE m.id = changing.id AND changing.left_over < :gone AND ${lives}
    AND commonplace_effective_confidence(
      confidence, decay_rate, coalesce(last_confirmed_at, created_at), :now) < :gone
  RETURNING m.id, changing.left_over, '${memory_type}_expired' AS event_type,
    jsonb_build_object(${before}, 'status', changing.status_before) AS before,
    jsonb_build_object(${after}, 'status', changing.status_before) AS after
),
fading AS (
  UPDATE ${memories} AS m SET metadata = metadata || '{"status": "fading"}' FROM changing
  WHERE m.id = changing.id AND changing.left_over >= :gone AND changing.left_over < :faint AND ${lives}
    AND (metadata ->> 'status') IS DISTINCT FROM 'fading'
    AND commonplace_effective_confidence(
      confidence, decay_rate, coalesce(last_confirmed_at, created_at), :now) < :faint
  RETURNING m.id, changing.left_over, '${memory_type}_fading',
    jsonb_build_object('status', changing.status_before), jsonb_build_object('status', 'fading')
),
recovered AS (
  UPDATE ${memories} AS m SET metadata = metadata - 'status' FROM changing
  WHERE m.id = changing.id AND changing.left_over >= :faint AND ${lives} AND metadata ->> 'status' = 'fading'
  RETURNING m.id, changing.left_over, '${memory_type}_recovered',
    jsonb_build_object('status', 'fading'), jsonb_build_object('status', NULL)
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), event_type,
    jsonb_build_object(
      'memory_type', '${memory_type}', 'memory_id', id, 'effective_confidence', left_over, 'before', before,
      'after', after
    )
  FROM (SELECT * FROM expired UNION ALL SELECT * FROM fading UNION ALL SELECT * FROM recovered) AS changes
)
SELECT
  (SELECT count(*) FROM page) AS read,
  (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last_id,
  (SELECT count(*) FROM expired) AS gone,
  (SELECT count(*) FROM fading) AS fading,
  (SELECT count(*) FROM recovered) AS recovered;
