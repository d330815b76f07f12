-- Order of locks: facts by id, as everywhere.

-- name: memories_to_move(source, sessions, ids)
-- columns: memory_type str, id UUID
-- Return the type and id of each memory of a scope: of all, of those that came from some sessions, or of some ids.
WITH episodes_of AS (
  SELECT id FROM episodes
  WHERE butler = :source
    AND (CAST(:sessions AS uuid[]) IS NULL OR session_id = ANY(CAST(:sessions AS uuid[])))
)
SELECT found.memory_type, found.id FROM (
  SELECT 'episode' AS memory_type, id FROM episodes_of
  UNION ALL
  SELECT 'fact', id FROM facts
  WHERE scope = :source
    AND (CAST(:sessions AS uuid[]) IS NULL OR source_episode_id IN (SELECT id FROM episodes_of))
  UNION ALL
  SELECT 'rule', id FROM rules
  WHERE scope = :source
    AND (CAST(:sessions AS uuid[]) IS NULL OR source_episode_id IN (SELECT id FROM episodes_of))
) AS found
WHERE CAST(:ids AS uuid[]) IS NULL OR found.id = ANY(CAST(:ids AS uuid[]))
ORDER BY found.memory_type, found.id;

-- name: rival_facts(ids, target)
-- columns: stays_id UUID, superseded_id UUID
-- Lock the active facts of some ids and the active facts of the same keys in the target scope. Return each pair as the
-- fact that stays and the fact that it supersedes: the more trusted fact stays, then a fact without flags, then the newer
-- fact.
SELECT
  CASE WHEN moving_stays THEN moving.id ELSE rival.id END AS stays_id,
  CASE WHEN moving_stays THEN rival.id ELSE moving.id END AS superseded_id
FROM facts AS moving
JOIN facts AS rival
  ON rival.tenant_id = moving.tenant_id AND rival.scope = :target AND rival.validity = 'active'
  AND rival.predicate = moving.predicate AND rival.entity_id IS NOT DISTINCT FROM moving.entity_id
  AND (moving.entity_id IS NOT NULL OR rival.subject = moving.subject),
LATERAL (
  SELECT (commonplace_trust(moving.trust), moving.flags = '[]', moving.created_at, moving.id)
    > (commonplace_trust(rival.trust), rival.flags = '[]', rival.created_at, rival.id) AS moving_stays
) AS compared
WHERE moving.id = ANY(CAST(:ids AS uuid[])) AND moving.validity = 'active' AND moving.scope <> :target
ORDER BY least(moving.id, rival.id), greatest(moving.id, rival.id)
FOR UPDATE OF moving, rival;

-- name: supersede_rivals(stays, superseded, now)
-- Let facts supersede others, with a link and an event for each pair.
WITH pairs AS (
  SELECT * FROM unnest(CAST(:stays AS uuid[]), CAST(:superseded AS uuid[])) AS given (stays_id, superseded_id)
),
changed AS (
  UPDATE facts SET validity = 'superseded' FROM pairs WHERE facts.id = pairs.superseded_id
),
links AS (
  INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT current_setting('commonplace.tenant_id'), 'fact', stays_id, 'fact', superseded_id, 'supersedes', :now FROM pairs
  ON CONFLICT DO NOTHING
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'), 'fact_superseded',
  jsonb_build_object(
    'memory_type', 'fact', 'memory_id', superseded_id, 'superseded_by', stays_id,
    'before', jsonb_build_object('validity', 'active'), 'after', jsonb_build_object('validity', 'superseded')
  )
FROM pairs;

-- name: rescope_memories(source, target, episodes, facts, rules)
-- columns: memory_type str, id UUID
-- Move memories from one scope to another. Return the type and id of each.
WITH moved_episodes AS (
  UPDATE episodes SET butler = :target WHERE id = ANY(CAST(:episodes AS uuid[])) AND butler = :source RETURNING id
),
moved_facts AS (
  UPDATE facts SET scope = :target WHERE id = ANY(CAST(:facts AS uuid[])) AND scope = :source RETURNING id
),
moved_rules AS (
  UPDATE rules SET scope = :target WHERE id = ANY(CAST(:rules AS uuid[])) AND scope = :source RETURNING id
)
SELECT 'episode' AS memory_type, id FROM moved_episodes
UNION ALL SELECT 'fact', id FROM moved_facts
UNION ALL SELECT 'rule', id FROM moved_rules;

-- name: scope_move(event_id)^
-- columns: payload dict[str, object], is_undone bool
-- Return the record of a move of memories, and whether it was undone.
SELECT
  moved.payload,
  EXISTS (
    SELECT FROM memory_events AS undone
    WHERE undone.event_type = 'scope_move_undone' AND undone.payload ->> 'move_id' = CAST(moved.id AS text)
  ) AS is_undone
FROM memory_events AS moved
WHERE moved.id = :event_id AND moved.event_type = 'scope_moved';

-- name: standing_scope_moves(source, target)
-- columns: id UUID, payload dict[str, object]
-- Return the id and the record of each move between two scopes that was not undone, the latest first.
SELECT moved.id, moved.payload FROM memory_events AS moved
WHERE moved.event_type = 'scope_moved' AND moved.payload ->> 'source' = :source AND moved.payload ->> 'target' = :target
  AND NOT EXISTS (
    SELECT FROM memory_events AS undone
    WHERE undone.event_type = 'scope_move_undone' AND undone.payload ->> 'move_id' = CAST(moved.id AS text)
  )
ORDER BY moved.created_at DESC, moved.id;

-- name: movable_back(facts, source, target)
-- columns: id UUID
-- Lock facts of some ids that are in the target scope. Return the ids of those whose key has no other active fact in
-- the source scope.
SELECT moving.id FROM facts AS moving
WHERE moving.id = ANY(CAST(:facts AS uuid[])) AND moving.scope = :target
  AND NOT (moving.validity = 'active' AND EXISTS (
    SELECT FROM facts AS rival
    WHERE rival.tenant_id = moving.tenant_id AND rival.scope = :source AND rival.validity = 'active'
      AND rival.predicate = moving.predicate AND rival.entity_id IS NOT DISTINCT FROM moving.entity_id
      AND (moving.entity_id IS NOT NULL OR rival.subject = moving.subject)
  ))
ORDER BY moving.id
FOR UPDATE OF moving;

-- name: restore_rivals(stays, superseded)
-- columns: id UUID
-- Make superseded facts active again whose key has no active fact, remove the links, and write an event for each.
-- Return their ids.
WITH pairs AS (
  SELECT * FROM unnest(CAST(:stays AS uuid[]), CAST(:superseded AS uuid[])) AS given (stays_id, superseded_id)
),
changed AS (
  UPDATE facts SET validity = 'active' FROM pairs
  WHERE facts.id = pairs.superseded_id AND facts.validity = 'superseded'
    AND NOT EXISTS (
      SELECT FROM facts AS rival
      WHERE rival.tenant_id = facts.tenant_id AND rival.scope = facts.scope AND rival.validity = 'active'
        AND rival.predicate = facts.predicate AND rival.entity_id IS NOT DISTINCT FROM facts.entity_id
        AND (facts.entity_id IS NOT NULL OR rival.subject = facts.subject)
    )
  RETURNING facts.id
),
unlinked AS (
  DELETE FROM memory_links USING pairs JOIN changed ON changed.id = pairs.superseded_id
  WHERE source_type = 'fact' AND source_id = stays_id AND target_type = 'fact' AND target_id = superseded_id
    AND relation = 'supersedes'
),
restored AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_restored',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id,
      'before', jsonb_build_object('validity', 'superseded'), 'after', jsonb_build_object('validity', 'active')
    )
  FROM changed
)
SELECT id FROM changed;
