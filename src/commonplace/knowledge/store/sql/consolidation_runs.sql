-- Consolidation runs, their actions, and undoing them.

-- name: list_runs(butler, state, limit, offset)
-- Runs, the latest first; butler and state are optional filters.
SELECT * FROM consolidation_runs
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND (CAST(:butler AS text) IS NULL OR butler = :butler) AND (CAST(:state AS text) IS NULL OR state = :state)
ORDER BY started_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: get_run(run_id)^
-- One run.
SELECT * FROM consolidation_runs
WHERE id = :run_id;

-- name: run_actions(run_id)
-- The actions of a run, in order, with the present state of the memories.
SELECT
  position, action, memory_id, superseded_ids, confirmed_before, confirmed_at,
  coalesce(facts.content, rules.content) AS content, facts.subject, facts.predicate,
  coalesce(
    facts.validity, CASE WHEN (rules.metadata -> 'forgotten') = 'true' THEN 'forgotten' ELSE rules.maturity END
  ) AS state
FROM consolidation_actions
LEFT JOIN facts ON facts.tenant_id = consolidation_actions.tenant_id AND facts.id = memory_id
LEFT JOIN rules ON rules.tenant_id = consolidation_actions.tenant_id AND rules.id = memory_id
WHERE consolidation_actions.tenant_id = current_setting('commonplace.tenant_id') AND run_id = :run_id
ORDER BY position;

-- name: fact_keys(ids)
-- columns: scope str, subject str, predicate str, entity_id UUID | None
-- The key columns of some facts.
SELECT scope, subject, predicate, entity_id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: stored_by_undone_runs(ids)
-- columns: memory_id UUID, superseded_ids list[UUID]
-- Of some facts and rules, those that undone runs had stored, with the facts that each had replaced.
SELECT memory_id, superseded_ids
FROM consolidation_actions AS stored
JOIN consolidation_runs AS run ON run.tenant_id = stored.tenant_id AND run.id = stored.run_id
WHERE stored.tenant_id = current_setting('commonplace.tenant_id') AND memory_id = ANY(CAST(:ids AS uuid[]))
  AND action IN ('fact_created', 'fact_updated', 'rule_created', 'rule_updated') AND state = 'undone';

-- name: left_by_undone_runs(ids)
-- columns: id UUID
-- Superseded facts with the keys of some facts that undone runs had replaced, if undone runs also stored all newer facts
-- with the same key: an earlier undo left them because a newer fact was still active.
SELECT replaced.id FROM facts AS replaced
WHERE replaced.tenant_id = current_setting('commonplace.tenant_id') AND replaced.validity = 'superseded'
  AND EXISTS (
    SELECT FROM facts AS freed
    WHERE freed.tenant_id = replaced.tenant_id AND freed.id = ANY(CAST(:ids AS uuid[]))
      AND freed.scope = replaced.scope AND freed.predicate = replaced.predicate
      AND freed.entity_id IS NOT DISTINCT FROM replaced.entity_id
      AND (replaced.entity_id IS NOT NULL OR freed.subject = replaced.subject)
  ) AND EXISTS (
    SELECT FROM consolidation_actions AS theirs
    JOIN consolidation_runs AS run ON run.tenant_id = theirs.tenant_id AND run.id = theirs.run_id
    WHERE theirs.tenant_id = replaced.tenant_id AND replaced.id = ANY(superseded_ids) AND state = 'undone'
  ) AND NOT EXISTS (
    SELECT FROM facts AS newer
    WHERE newer.tenant_id = replaced.tenant_id AND newer.scope = replaced.scope
      AND newer.predicate = replaced.predicate AND newer.entity_id IS NOT DISTINCT FROM replaced.entity_id
      AND (replaced.entity_id IS NOT NULL OR newer.subject = replaced.subject)
      AND newer.created_at > replaced.created_at AND NOT EXISTS (
        SELECT FROM consolidation_actions AS stored
        JOIN consolidation_runs AS run ON run.tenant_id = stored.tenant_id AND run.id = stored.run_id
        WHERE stored.tenant_id = replaced.tenant_id AND stored.memory_id = newer.id
          AND action IN ('fact_created', 'fact_updated') AND state = 'undone'
      )
  )
ORDER BY replaced.created_at DESC, replaced.id;

-- name: since_stored(id)^
-- The changes of a fact or rule since it was stored: whether it left every search, whether it was confirmed, how often it
-- was applied, and whether an action of an applied run names it.
SELECT
  is_gone, is_confirmed, times_applied,
  EXISTS (
    SELECT FROM consolidation_actions AS theirs
    JOIN consolidation_runs AS run ON run.tenant_id = theirs.tenant_id AND run.id = theirs.run_id
    WHERE theirs.tenant_id = current_setting('commonplace.tenant_id') AND memory_id = memory.id AND state = 'applied'
      AND action NOT IN ('fact_retracted', 'rule_retracted')
  ) AS is_learned_again
FROM (
  SELECT
    id, validity = 'retracted' AS is_gone, last_confirmed_at IS DISTINCT FROM created_at AS is_confirmed,
    0 AS times_applied
  FROM facts WHERE id = :id
  UNION ALL
  SELECT
    id, (metadata -> 'forgotten') IS NOT DISTINCT FROM 'true', last_confirmed_at IS DISTINCT FROM created_at,
    applied_count
  FROM rules WHERE id = :id
) AS memory;

-- name: restore_fact(id, validity)$
-- returns: UUID | None
-- Makes a fact active again that was superseded or retracted, as :validity says, and writes the event, unless another fact
-- with its key is active, or a fact that replaced it directly or indirectly, under any key. Returns its id, or nothing.
WITH RECURSIVE later AS (
  SELECT CAST(:id AS uuid) AS id
  UNION
  SELECT memory_links.source_id FROM memory_links JOIN later ON memory_links.target_id = later.id
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND target_type = 'fact' AND source_type = 'fact'
    AND relation = 'supersedes'
),
restored AS (
  UPDATE facts SET validity = 'active'
  WHERE id = :id AND validity = :validity AND NOT EXISTS (
    SELECT FROM facts AS successor JOIN later ON successor.id = later.id
    WHERE successor.tenant_id = facts.tenant_id AND successor.validity = 'active'
  ) AND NOT EXISTS (
    SELECT FROM facts AS newer
    WHERE newer.tenant_id = facts.tenant_id AND newer.validity = 'active' AND newer.scope = facts.scope
      AND newer.predicate = facts.predicate AND newer.entity_id IS NOT DISTINCT FROM facts.entity_id
      AND (facts.entity_id IS NOT NULL OR newer.subject = facts.subject)
  )
  RETURNING id
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_restored',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'before', jsonb_build_object('validity', CAST(:validity AS text)),
      'after', jsonb_build_object('validity', 'active')
    )
  FROM restored
)
SELECT id FROM restored;

-- name: restore_rule(id)$
-- returns: UUID | None
-- Makes a forgotten rule current again and writes the event, unless a rule that replaced it directly or indirectly is
-- current. Returns its id, or nothing.
WITH RECURSIVE later AS (
  SELECT CAST(:id AS uuid) AS id
  UNION
  SELECT memory_links.source_id FROM memory_links JOIN later ON memory_links.target_id = later.id
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND target_type = 'rule' AND source_type = 'rule'
    AND relation = 'supersedes'
),
restored AS (
  UPDATE rules SET metadata = metadata - 'forgotten'
  WHERE id = :id AND (metadata -> 'forgotten') = 'true' AND NOT EXISTS (
    SELECT FROM rules AS successor JOIN later ON successor.id = later.id
    WHERE successor.tenant_id = rules.tenant_id AND successor.id <> rules.id
      AND (successor.metadata -> 'forgotten') IS DISTINCT FROM 'true'
  )
  RETURNING id
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'rule_restored',
    jsonb_build_object(
      'memory_type', 'rule', 'memory_id', id, 'before', jsonb_build_object('forgotten', true),
      'after', jsonb_build_object('forgotten', false)
    )
  FROM restored
)
SELECT id FROM restored;

-- name: confirmed_before_undone(run_id, memory_id, confirmed_at)$
-- returns: datetime | None
-- When a fact or rule was last confirmed before another run confirmed it at :confirmed_at, if that run is undone.
SELECT min(confirmed_before)
FROM consolidation_actions AS theirs
JOIN consolidation_runs AS run ON run.tenant_id = theirs.tenant_id AND run.id = theirs.run_id
WHERE theirs.tenant_id = current_setting('commonplace.tenant_id') AND memory_id = :memory_id
  AND run_id <> :run_id AND confirmed_at = :confirmed_at AND confirmed_before < :confirmed_at AND state = 'undone';

-- name: unlink_episodes(source_type, source_id, episode_ids, relation)!
-- Removes the links from a memory to episodes of an undone run, and writes the events.
WITH removed AS (
  DELETE FROM memory_links
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = :source_type
    AND source_id = :source_id AND target_type = 'episode' AND target_id = ANY(CAST(:episode_ids AS uuid[]))
    AND relation = :relation
  RETURNING source_type, source_id, target_type, target_id, relation
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'), 'link_removed',
  jsonb_build_object('before', to_jsonb(removed), 'after', NULL)
FROM removed;

-- name: requeue_run(run_id, now)$
-- returns: int
-- Requeues the episodes of a run that have not expired, and writes the events. Returns their number.
WITH requeued AS (
  UPDATE episodes SET consolidated = false, consolidation_status = 'pending', retry_count = 0
  FROM consolidation_runs AS run
  WHERE run.id = :run_id AND episodes.id = ANY(run.episode_ids) AND episodes.consolidated
    AND (expires_at IS NULL OR expires_at > :now)
  RETURNING episodes.id
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_requeued',
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id,
      'before', jsonb_build_object('consolidation_status', 'consolidated'),
      'after', jsonb_build_object('consolidation_status', 'pending')
    )
  FROM requeued
)
SELECT count(*) FROM requeued;

-- name: mark_undone(run_id, now)!
-- Marks a run as undone by the actor of the transaction, and writes the event.
WITH undone AS (
  UPDATE consolidation_runs SET
    state = 'undone', undone_at = :now, undone_by = nullif(current_setting('commonplace.actor', true), '')
  WHERE id = :run_id
  RETURNING butler, cardinality(episode_ids) AS episodes
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT current_setting('commonplace.tenant_id'), 'consolidation_undone', to_jsonb(undone) FROM undone;
