-- Episodes that another transaction has locked are left for the next cleanup, so that no transaction waits.

-- name: delete_expired_episodes(limit, now)^
-- returns: Row
-- columns: deleted int, unconsolidated int
-- Deletes a batch of expired episodes and their links, the longest expired first, and writes the events.
WITH chosen AS (
  SELECT id FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND expires_at < :now
  ORDER BY expires_at, id
  LIMIT :limit
  FOR UPDATE SKIP LOCKED
),
deleted AS (
  DELETE FROM episodes USING chosen WHERE episodes.id = chosen.id AND episodes.expires_at < :now
  RETURNING episodes.id, episodes.butler, episodes.consolidation_status, episodes.created_at, episodes.expires_at,
    'episode_expired' AS event_type
),
${deleted_episodes}
SELECT
  count(*) AS deleted,
  -- A forgotten episode expires before its seven days and does not count as lost.
  count(*) FILTER (
    WHERE consolidation_status <> 'consolidated' AND expires_at >= created_at + interval '7 days'
  ) AS unconsolidated
FROM deleted;

-- name: delete_surplus_episodes(max_entries, limit)^
-- returns: Row
-- columns: deleted int, total int
-- Deletes a batch of the oldest consolidated episodes and their links while there are more than :max_entries episodes,
-- and writes the events. Returns the number deleted and the number before.
WITH kept AS (
  SELECT count(*) AS total FROM episodes WHERE tenant_id = current_setting('commonplace.tenant_id')
),
chosen AS (
  SELECT id FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND consolidated
  ORDER BY created_at, id
  LIMIT (SELECT greatest(0, least(CAST(:limit AS bigint), total - CAST(:max_entries AS bigint))) FROM kept)
  FOR UPDATE SKIP LOCKED
),
deleted AS (
  DELETE FROM episodes USING chosen WHERE episodes.id = chosen.id AND episodes.consolidated
  RETURNING episodes.id, episodes.butler, episodes.consolidation_status, episodes.created_at, episodes.expires_at,
    'episode_evicted' AS event_type
),
${deleted_episodes}
SELECT (SELECT count(*) FROM deleted) AS deleted, total FROM kept;
