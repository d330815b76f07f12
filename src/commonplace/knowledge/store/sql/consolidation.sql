-- Lock order: the butler's own lock, its run, episodes, keys of facts, facts by id, rules by id. Episodes are locked
-- FOR NO KEY UPDATE, so that foreign keys to them can still be checked.

-- name: pending_groups(now)
-- The number of pending and failed episodes that have not expired, by butler.
SELECT butler, count(*) AS episodes, min(created_at) AS oldest_at
FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND consolidation_status IN ('pending', 'failed')
  AND (expires_at IS NULL OR expires_at > :now)
GROUP BY butler
ORDER BY butler COLLATE "C";

-- name: expiring_episodes(now, before)^
-- returns: Row
-- The number of pending and failed episodes that expire before a moment, and the first of these moments.
SELECT count(*) AS episodes, min(expires_at) AS first_at
FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND consolidation_status IN ('pending', 'failed')
  AND expires_at > :now AND expires_at <= :before;

-- name: loses_episodes(now, before)$
-- returns: bool
-- Whether an episode that waits, or that is tried no more, expires before a moment.
SELECT EXISTS (
  SELECT FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND consolidation_status IN ('pending', 'failed', 'dead_letter')
    AND expires_at > :now AND expires_at <= :before
);

-- name: set_run(run_id)^
-- Sets the run of this transaction; its events name the run.
SELECT set_config('commonplace.run_id', :run_id, true);

-- name: running_run(butler)^
-- columns: id UUID, worker str, leased_until datetime
-- The run that holds a butler's episodes; its worker may be dead.
SELECT id, worker, leased_until FROM consolidation_runs
WHERE tenant_id = current_setting('commonplace.tenant_id') AND butler = :butler AND state = 'running'
FOR UPDATE;

-- name: oldest_episodes(butler, limit, max_chars, max_episode_chars, now, latest_attempt)
-- columns: retry_count int, next_attempt_at datetime | None, is_due bool
-- The oldest unconsolidated episodes of a butler, up to :max_chars characters, where an episode counts at most
-- :max_episode_chars; each with whether it is due. A next attempt after :latest_attempt comes from a wrong clock.
SELECT
  id, content, created_at, importance, coalesce(metadata ->> 'source', '') AS source,
  coalesce(metadata ->> 'purpose', '') AS purpose, retry_count, next_attempt_at, is_due
FROM (
  SELECT
    id, content, created_at, insertion_order, importance, metadata, retry_count, next_attempt_at,
    next_attempt_at IS NULL OR next_attempt_at <= :now OR next_attempt_at > :latest_attempt AS is_due,
    sum(least(length(content), CAST(:max_episode_chars AS integer))) OVER (
      ORDER BY created_at, insertion_order ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS chars_before
  FROM (
    SELECT id, content, created_at, insertion_order, importance, metadata, retry_count, next_attempt_at FROM episodes
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND butler = :butler
      AND consolidation_status IN ('pending', 'failed') AND (expires_at IS NULL OR expires_at > :now)
    ORDER BY created_at, insertion_order
    LIMIT :limit
    FOR NO KEY UPDATE
  ) AS oldest
) AS measured
WHERE coalesce(chars_before, 0) < :max_chars
ORDER BY created_at, insertion_order;

-- name: is_busy(butler, now, latest_lease)$
-- returns: bool
-- Whether a worker holds a butler's episodes now.
SELECT EXISTS (
  SELECT FROM consolidation_runs
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND butler = :butler AND state = 'running'
    AND leased_until > :now AND leased_until <= :latest_lease
);

-- name: next_episodes(butler, after_created_at, after_order, limit, max_attempts, now, latest_attempt)
-- columns: created_at datetime, insertion_order int
-- The oldest unconsolidated episodes of a butler after a given episode, each with whether it is due. A run whose worker
-- died counts as an attempt already.
SELECT
  id, content, created_at, insertion_order, importance, '' AS source, '' AS purpose, retry_count,
  next_attempt_at IS NULL OR next_attempt_at <= :now OR next_attempt_at > :latest_attempt AS is_due
FROM (
  SELECT
    id, content, created_at, insertion_order, importance, next_attempt_at,
    retry_count + CAST(lease_run IS NOT NULL AS integer) AS retry_count
  FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND butler = :butler
    AND consolidation_status IN ('pending', 'failed') AND (expires_at IS NULL OR expires_at > :now)
    AND (created_at, insertion_order)
      > (coalesce(CAST(:after_created_at AS timestamptz), '-infinity'), CAST(:after_order AS bigint))
) AS waiting
WHERE retry_count < :max_attempts
ORDER BY created_at, insertion_order
LIMIT :limit;

-- name: begin_run(id, butler, worker, model, episode_ids, leased_until, now)!
-- Begins a run and leases its episodes.
WITH begun AS (
  INSERT INTO consolidation_runs (tenant_id, id, butler, worker, model, episode_ids, leased_until, started_at)
  VALUES (
    current_setting('commonplace.tenant_id'), :id, :butler, :worker, :model, CAST(:episode_ids AS uuid[]),
    :leased_until, :now
  )
)
UPDATE episodes SET leased_by = :worker, leased_until = :leased_until, lease_run = :id
WHERE id = ANY(CAST(:episode_ids AS uuid[]));

-- name: renew_lease(run_id, leased_until)$
-- returns: UUID | None
-- Renews the lease of a run that is still running. Returns the run's id, or nothing.
WITH renewed AS (
  UPDATE consolidation_runs SET leased_until = :leased_until
  WHERE id = :run_id AND state = 'running'
  RETURNING tenant_id, id
),
theirs AS (
  UPDATE episodes SET leased_until = :leased_until FROM renewed
  WHERE episodes.tenant_id = renewed.tenant_id AND episodes.lease_run = renewed.id
)
SELECT id FROM renewed;

-- name: lock_run(run_id)^
-- One run, locked until the transaction ends.
SELECT * FROM consolidation_runs
WHERE id = :run_id
FOR UPDATE;

-- name: end_run(run_id, state, errors, now)!
-- Ends a run without effects, and writes the event; a run that had ended keeps its end time.
WITH ended AS (
  UPDATE consolidation_runs
  SET state = :state, errors = errors || CAST(:errors AS jsonb), ended_at = coalesce(ended_at, :now)
  WHERE id = :run_id
  RETURNING butler, state, cardinality(episode_ids) AS episodes
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT current_setting('commonplace.tenant_id'), 'consolidation_' || state, to_jsonb(ended) FROM ended;

-- name: fail_episodes(run_id, error, counted, max_attempts, next_attempt_at)$
-- returns: int
-- Releases the episodes of a failed run, to be tried again at :next_attempt_at. After the last attempt an episode becomes
-- a dead letter with an event. Returns the number of new dead letters.
WITH failed AS (
  UPDATE episodes SET
    retry_count = retry_count + CAST(:counted AS integer),
    consolidation_status =
      CASE WHEN retry_count + CAST(:counted AS integer) >= :max_attempts THEN 'dead_letter' ELSE 'failed' END,
    last_error = :error, next_attempt_at = :next_attempt_at,
    leased_by = NULL, leased_until = NULL, lease_run = NULL
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = :run_id
  RETURNING id, retry_count, consolidation_status
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_dead_letter',
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id, 'before', NULL,
      'after', jsonb_build_object('consolidation_status', consolidation_status, 'retry_count', retry_count)
    )
  FROM failed WHERE consolidation_status = 'dead_letter'
)
SELECT count(*) FROM failed WHERE consolidation_status = 'dead_letter';

-- name: release_episodes(run_id)!
-- Releases the episodes of a run unchanged.
UPDATE episodes SET leased_by = NULL, leased_until = NULL, lease_run = NULL
WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = :run_id;

-- name: dead_letters(butler, limit)
-- Episodes with no more retries, the oldest first; :butler is an optional filter.
SELECT id, butler, created_at, expires_at, retry_count, last_error FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND consolidation_status = 'dead_letter'
  AND (CAST(:butler AS text) IS NULL OR butler = :butler)
ORDER BY created_at, insertion_order
LIMIT :limit;

-- name: requeue_dead_letters(butler, episode_id, now)$
-- returns: int
-- Requeues dead letters that have not expired, from the first attempt, and writes the events. Returns their number.
WITH chosen AS (
  SELECT id, retry_count FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND consolidation_status = 'dead_letter'
    AND (CAST(:butler AS text) IS NULL OR butler = :butler) AND (expires_at IS NULL OR expires_at > :now)
    AND (CAST(:episode_id AS uuid) IS NULL OR id = :episode_id)
  ORDER BY id
  FOR NO KEY UPDATE
),
requeued AS (
  UPDATE episodes SET consolidation_status = 'pending', retry_count = 0, next_attempt_at = NULL
  FROM chosen WHERE episodes.id = chosen.id
  RETURNING episodes.id, chosen.retry_count
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_requeued',
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id,
      'before', jsonb_build_object('consolidation_status', 'dead_letter', 'retry_count', retry_count),
      'after', jsonb_build_object('consolidation_status', 'pending')
    )
  FROM requeued
)
SELECT count(*) FROM requeued;

-- name: undo_requeue(id)$
-- returns: UUID | None
-- Makes a requeued episode a dead letter again, unless a run has taken it since, and writes the event. Returns its id.
WITH requeue AS (
  SELECT payload -> 'before' AS before, payload -> 'after' AS after FROM memory_events
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND about_id = CAST(CAST(:id AS uuid) AS text)
    AND event_type IN ('episode_requeued', 'episode_dead_letter')
  ORDER BY created_at DESC
  LIMIT 1
),
returned AS (
  UPDATE episodes SET consolidation_status = 'dead_letter', retry_count = CAST(before ->> 'retry_count' AS integer)
  FROM requeue
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id AND lease_run IS NULL
    AND consolidation_status = 'pending' AND before ? 'retry_count'
  RETURNING id, before, after
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_dead_letter',
    jsonb_build_object('memory_type', 'episode', 'memory_id', id, 'before', after, 'after', before)
  FROM returned
)
SELECT id FROM returned;

-- name: known_facts(run_id, butler, limit)
-- Active facts that a butler sees and that had not ended before the episodes of its run, the nearest in meaning to one of
-- the episodes first.
SELECT
  id, scope, subject, predicate, content, permanence, importance, tags, entity_id,
  coalesce(valid_from, created_at) AS began_at, valid_to, coalesce(last_confirmed_at, created_at) AS last_confirmed_at,
  coalesce(metadata ->> 'status' = 'fading', false) AS fading
FROM facts AS known
WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active' AND scope IN ('global', :butler)
  AND (valid_to IS NULL OR valid_to > (
    SELECT min(episodes.created_at) FROM episodes
    WHERE episodes.tenant_id = current_setting('commonplace.tenant_id') AND episodes.lease_run = :run_id
  ))
${nearest_to_run};

-- name: known_rules(run_id, butler, limit)
-- Rules that a butler sees, without forgotten rules, the nearest in meaning to one of the episodes of its run first.
SELECT id, scope, content, maturity, tags, created_at FROM rules AS known
WHERE tenant_id = current_setting('commonplace.tenant_id') AND scope IN ('global', :butler)
  AND ${rule_lives}
${nearest_to_run};

-- name: known_entities(run_id, limit)
-- Entities that the episodes of a run name by any of their names, without merged entities.
WITH told AS (
  SELECT lower(string_agg(content, chr(10))) AS text FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = :run_id
)
SELECT canonical_name, entity_type, aliases
FROM entities, told
WHERE tenant_id = current_setting('commonplace.tenant_id') AND metadata ->> 'merged_into' IS NULL
  AND EXISTS (
    SELECT FROM unnest(array_append(aliases, canonical_name)) AS name WHERE strpos(told.text, lower(name)) > 0
  )
ORDER BY canonical_name COLLATE "C", id
LIMIT :limit;
