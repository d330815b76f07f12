-- Lists for people, a page at a time. Rows come without their vectors. Where text is looked for, a part of it anywhere
-- counts, in any case. A page is found first, by what its index holds, and read then: rows are wide, and those before
-- the page are not looked at.

-- name: list_facts(validity, fading, scope, entity_id, limit, offset)
-- Facts, the newest first; of one validity, fading or not, of one scope or entity where that is given.
SELECT ${fact_columns} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(ARRAY(
  SELECT id FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:validity AS text) IS NULL OR validity = :validity)
    AND (CAST(:fading AS boolean) IS NULL OR :fading = (metadata ->> 'status' IS NOT DISTINCT FROM 'fading'))
    AND (CAST(:scope AS text) IS NULL OR scope = :scope)
    AND (CAST(:entity_id AS uuid) IS NULL OR entity_id = :entity_id)
  ORDER BY created_at DESC, id
  LIMIT :limit OFFSET :offset
))
ORDER BY created_at DESC, id;

-- name: fact_chain(id)
-- A fact with all that it superseded and all that superseded it, the newest first.
WITH RECURSIVE older AS (
  SELECT id, supersedes_id FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
  UNION
  SELECT facts.id, facts.supersedes_id FROM facts JOIN older ON facts.id = older.supersedes_id
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id')
),
newer AS (
  SELECT id FROM facts WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
  UNION
  SELECT facts.id FROM facts JOIN newer ON facts.supersedes_id = newer.id
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id')
)
SELECT ${fact_columns} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND id IN (SELECT id FROM older UNION SELECT id FROM newer)
ORDER BY created_at DESC, id;

-- name: list_rules(maturity, forgotten, scope, limit, offset)
-- Rules, the newest first; of one maturity, forgotten or not, of one scope where that is given.
SELECT ${rule_columns} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(ARRAY(
  SELECT id FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:maturity AS text) IS NULL OR maturity = :maturity)
    AND (
      CAST(:forgotten AS boolean) IS NULL OR :forgotten = ((metadata -> 'forgotten') IS NOT DISTINCT FROM 'true')
    )
    AND (CAST(:scope AS text) IS NULL OR scope = :scope)
  ORDER BY created_at DESC, id
  LIMIT :limit OFFSET :offset
))
ORDER BY created_at DESC, id;

-- name: list_applications(rule_id, limit)
-- When a rule was applied, the latest first, and what came of it.
SELECT outcome, reason, actor, applied_at, context FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id') AND rule_id = :rule_id
ORDER BY applied_at DESC, id
LIMIT :limit;

-- name: list_episodes(status, butler, live_at, limit, offset)
-- Episodes, the newest first; of one state of consolidation, of one butler, without those that have expired at a moment
-- where that is given.
SELECT ${episode_columns} FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(ARRAY(
  SELECT id FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:status AS text) IS NULL OR consolidation_status = :status)
    AND (CAST(:butler AS text) IS NULL OR butler = :butler)
    AND (CAST(:live_at AS timestamptz) IS NULL OR expires_at IS NULL OR expires_at > :live_at)
  ORDER BY created_at DESC, id
  LIMIT :limit OFFSET :offset
))
ORDER BY created_at DESC, id;

-- name: list_entities(key, entity_type, merged, limit, offset)
-- Entities by name, with how many active facts they have; those one of whose names holds a text, of one type, merged
-- away or not, where that is given.
SELECT
  id, canonical_name, entity_type, aliases, metadata, created_at, updated_at,
  CAST(metadata ->> 'merged_into' AS uuid) AS merged_into,
  (
    SELECT count(*) FROM facts
    WHERE facts.tenant_id = entities.tenant_id AND facts.entity_id = entities.id AND facts.validity = 'active'
  ) AS facts
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND (CAST(:key AS text) IS NULL OR strpos(coalesce(name_keys, lower(canonical_name)), :key) > 0)
  AND (CAST(:entity_type AS text) IS NULL OR entity_type = :entity_type)
  AND (CAST(:merged AS boolean) IS NULL OR :merged = (metadata ->> 'merged_into' IS NOT NULL))
ORDER BY canonical_name, id
LIMIT :limit OFFSET :offset;

-- name: graph_entities(entity_id, limit)
-- The entities of a picture: the one that is asked for, else those with the most active facts. These are counted for
-- each by itself, in the index of their keys: of a join the planner makes too much, for want of figures on JSON.
SELECT id, canonical_name, entity_type, facts FROM (
  SELECT id, canonical_name, entity_type, (
    SELECT count(*) FROM facts
    WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.entity_id = entities.id
      AND facts.validity = 'active'
  ) AS facts
  FROM entities
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:entity_id AS uuid) IS NULL OR id = :entity_id)
    AND metadata ->> 'merged_into' IS NULL
) AS counted
ORDER BY facts DESC, canonical_name, id
LIMIT :limit;

-- name: graph_facts(entity_ids, per_entity)
-- The most important active facts of each of some entities.
SELECT facts.id, facts.entity_id, subject, predicate, content
FROM unnest(CAST(:entity_ids AS uuid[])) AS wanted (id)
CROSS JOIN LATERAL (
  SELECT id, entity_id, subject, predicate, content, importance, created_at FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = wanted.id AND validity = 'active'
  ORDER BY importance DESC, created_at DESC, id
  LIMIT :per_entity
) AS facts
ORDER BY facts.entity_id, importance DESC, facts.created_at DESC, facts.id;

-- name: graph_links(ids, limit)
-- Links at either end of some memories, with a few words of the memory at each end.
WITH found AS (
  SELECT source_type, source_id, target_type, target_id, relation, created_at FROM memory_links
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (source_id = ANY(CAST(:ids AS uuid[])) OR target_id = ANY(CAST(:ids AS uuid[])))
  ORDER BY created_at DESC, source_id, target_id
  LIMIT :limit
),
ends AS (
  SELECT source_type AS memory_type, source_id AS id FROM found
  UNION
  SELECT target_type, target_id FROM found
),
words AS (
  SELECT ends.id, left(coalesce(e.content, f.subject || ' ' || f.predicate || ': ' || f.content, r.content), 120) AS text
  FROM ends
  LEFT JOIN episodes AS e ON ends.memory_type = 'episode' AND e.id = ends.id
    AND e.tenant_id = current_setting('commonplace.tenant_id')
  LEFT JOIN facts AS f ON ends.memory_type = 'fact' AND f.id = ends.id
    AND f.tenant_id = current_setting('commonplace.tenant_id')
  LEFT JOIN rules AS r ON ends.memory_type = 'rule' AND r.id = ends.id
    AND r.tenant_id = current_setting('commonplace.tenant_id')
)
SELECT found.*, source.text AS source_text, target.text AS target_text
FROM found
JOIN words AS source ON source.id = found.source_id
JOIN words AS target ON target.id = found.target_id
ORDER BY found.created_at DESC, found.source_id, found.target_id;
