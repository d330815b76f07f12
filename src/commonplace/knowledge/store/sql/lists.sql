-- Lists for people, a page at a time. A statement first finds the ids of the page in an index, then reads the rows of
-- these ids, because rows are wide.

-- name: list_facts(ids, validity, fading, scope, subject, predicate, entity_id, text, tags, since, until, learned_by, trusts, unused, source, max_confidence, as_of, valid_at, now, sort, reverse, limit, offset, after, after_at, after_id)
-- Facts in an order; NULL turns a filter off. as_of and valid_at find what was known then, and what was true then. A page
-- in the order of storing is read from an index; any other order compares all that match with the last row of the page
-- before, which after holds.
WITH matching AS NOT MATERIALIZED (
  SELECT * FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:validity AS text) IS NULL OR validity = :validity)
    AND (CAST(:fading AS boolean) IS NULL OR :fading = (metadata ->> 'status' IS NOT DISTINCT FROM 'fading'))
    AND (CAST(:subject AS text) IS NULL OR subject = :subject)
    AND (CAST(:predicate AS text) IS NULL OR predicate = :predicate)
    AND (CAST(:entity_id AS uuid) IS NULL OR entity_id = :entity_id)
    AND (
      CAST(:text AS text) IS NULL OR strpos(lower(concat_ws(' ', subject, predicate, content)), lower(:text)) > 0
    )
    AND ${list_filters}
    AND CASE
      WHEN CAST(:as_of AS timestamptz) IS NULL AND CAST(:valid_at AS timestamptz) IS NULL
        THEN CAST(:scope AS text) IS NULL OR scope = :scope
      ELSE (
        SELECT known.scope IS NOT NULL AND (CAST(:scope AS text) IS NULL OR known.scope = :scope)
        FROM commonplace_fact_then(
          id, created_at, confidence, decay_rate, CAST(:as_of AS timestamptz), CAST(:valid_at AS timestamptz),
          coalesce(CAST(:as_of AS timestamptz), CAST(:now AS timestamptz)), NULL
        ) AS known (scope)
      )
    END
),
candidates AS NOT MATERIALIZED (
  SELECT false AS is_mark, matching.* FROM matching
  UNION ALL
  SELECT true, mark.* FROM jsonb_populate_record(CAST(NULL AS facts), CAST(:after AS jsonb)) AS mark
),
placed AS NOT MATERIALIZED (
  SELECT
    is_mark, id, CAST(-extract(epoch FROM created_at) AS float8) AS age,
    CASE :sort
      WHEN 'subject' THEN lower(subject)
      WHEN 'scope' THEN scope
      WHEN 'state' THEN validity
      ELSE ''
    END AS word,
    CASE :sort
      WHEN 'confidence' THEN commonplace_effective_confidence(
        confidence, decay_rate, coalesce(last_confirmed_at, created_at), CAST(:now AS timestamptz)
      )
      WHEN 'confirmed' THEN extract(epoch FROM coalesce(last_confirmed_at, created_at))
      WHEN 'importance' THEN -importance
      WHEN 'used' THEN -reference_count
      ELSE 0.0
    END AS number
  FROM candidates
),
${page}
SELECT ${fact_columns}
FROM page CROSS JOIN LATERAL unnest(page.ids) WITH ORDINALITY AS listed (listed_id, place)
JOIN facts ON facts.id = listed.listed_id AND facts.tenant_id = current_setting('commonplace.tenant_id')
ORDER BY place;

-- name: fact_chain(id)
-- A fact with the facts that it superseded and the facts that superseded it, the newest first.
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

-- name: list_rules(ids, maturity, forgotten, scope, text, tags, since, until, learned_by, trusts, unused, source, max_confidence, as_of, now, sort, reverse, limit, offset, after, after_at, after_id)
-- Rules in an order; NULL turns a filter off. as_of finds the rules that were stored then, forgotten or not then.
WITH matching AS NOT MATERIALIZED (
  SELECT * FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:maturity AS text) IS NULL OR maturity = :maturity)
    AND (
      CAST(:forgotten AS boolean) IS NULL
      OR :forgotten = commonplace_rule_forgotten(id, metadata, CAST(:as_of AS timestamptz))
    )
    AND (CAST(:scope AS text) IS NULL OR scope = :scope)
    AND (CAST(:text AS text) IS NULL OR strpos(lower(content), lower(:text)) > 0)
    AND ${list_filters}
),
candidates AS NOT MATERIALIZED (
  SELECT false AS is_mark, matching.* FROM matching
  UNION ALL
  SELECT true, mark.* FROM jsonb_populate_record(CAST(NULL AS rules), CAST(:after AS jsonb)) AS mark
),
placed AS NOT MATERIALIZED (
  SELECT
    is_mark, id, CAST(-extract(epoch FROM created_at) AS float8) AS age,
    CASE :sort
      WHEN 'scope' THEN scope
      WHEN 'state' THEN maturity
      WHEN 'text' THEN lower(left(content, 100))
      ELSE ''
    END AS word,
    CASE :sort
      WHEN 'confidence' THEN commonplace_effective_confidence(
        confidence, decay_rate, coalesce(last_confirmed_at, created_at), CAST(:now AS timestamptz)
      )
      WHEN 'confirmed' THEN extract(epoch FROM coalesce(last_confirmed_at, created_at))
      WHEN 'effectiveness' THEN -effectiveness_score
      WHEN 'applied' THEN -applied_count
      WHEN 'helped' THEN -success_count
      WHEN 'harmed' THEN -harmful_count
      ELSE 0.0
    END AS number
  FROM candidates
),
${page}
SELECT ${rule_columns}
FROM page CROSS JOIN LATERAL unnest(page.ids) WITH ORDINALITY AS listed (listed_id, place)
JOIN rules ON rules.id = listed.listed_id AND rules.tenant_id = current_setting('commonplace.tenant_id')
ORDER BY place;

-- name: list_applications(rule_id, limit)
-- Applications of a rule, the latest first.
SELECT outcome, reason, actor, applied_at, context FROM rule_applications
WHERE tenant_id = current_setting('commonplace.tenant_id') AND rule_id = :rule_id
ORDER BY applied_at DESC, id
LIMIT :limit;

-- name: list_episodes(status, scope, learned_by, since, until, as_of, trusts, live_at, limit, offset, after_at, after_id)
-- Episodes, the newest first; NULL turns a filter off. live_at leaves out episodes that have expired at that moment.
SELECT ${episode_columns} FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(ARRAY(
  SELECT id FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND (CAST(:status AS text) IS NULL OR consolidation_status = :status)
    AND (CAST(:scope AS text) IS NULL OR butler = :scope)
    AND (CAST(:learned_by AS text) IS NULL OR butler = :learned_by)
    AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
    AND (CAST(:until AS timestamptz) IS NULL OR created_at < :until)
    AND (CAST(:as_of AS timestamptz) IS NULL OR created_at <= :as_of)
    AND (CAST(:trusts AS text[]) IS NULL OR trust = ANY(CAST(:trusts AS text[])))
    AND (CAST(:live_at AS timestamptz) IS NULL OR expires_at IS NULL OR expires_at > :live_at)
    AND (
      CAST(:after_at AS timestamptz) IS NULL OR created_at < :after_at
      OR (created_at = :after_at AND id > CAST(:after_id AS uuid))
    )
  ORDER BY created_at DESC, id
  LIMIT :limit OFFSET :offset
))
ORDER BY created_at DESC, id;

-- name: list_entities(keys, entity_type, merged, limit, offset, after_name, after_id)
-- Entities by name, with the numbers of their active facts; NULL turns a filter off. keys are parts of folded
-- names; one of them is enough.
SELECT
  id, canonical_name, entity_type, aliases, metadata, created_at, updated_at,
  CAST(metadata ->> 'merged_into' AS uuid) AS merged_into,
  (
    SELECT count(*) FROM facts
    WHERE facts.tenant_id = entities.tenant_id AND facts.entity_id = entities.id AND facts.validity = 'active'
  ) AS facts
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND (
    CAST(:keys AS text[]) IS NULL
    OR EXISTS (
      SELECT 1 FROM unnest(CAST(:keys AS text[])) AS key
      WHERE strpos(coalesce(name_keys, lower(canonical_name)), key) > 0
    )
  )
  AND (CAST(:entity_type AS text) IS NULL OR entity_type = :entity_type)
  AND (CAST(:merged AS boolean) IS NULL OR :merged = (metadata ->> 'merged_into' IS NOT NULL))
  AND (
    CAST(:after_name AS text) IS NULL OR (canonical_name, id) > (:after_name, CAST(:after_id AS uuid))
  )
ORDER BY canonical_name, id
LIMIT :limit OFFSET :offset;

-- name: graph_entities(entity_id, limit)
-- columns: id UUID
-- The entities of a graph: one entity, or the entities with the most active facts. A subquery counts the facts of each
-- entity in the index of keys, because the planner overestimates a join: it has no statistics on JSON.
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

-- name: graph_facts(entity_ids, per_entity, scope, since)
-- columns: id UUID
-- The most important active facts of each of the given entities; NULL turns a filter off.
SELECT facts.id, facts.entity_id, subject, predicate, content
FROM unnest(CAST(:entity_ids AS uuid[])) AS wanted (id)
CROSS JOIN LATERAL (
  SELECT id, entity_id, subject, predicate, content, importance, created_at FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = wanted.id AND validity = 'active'
    AND (CAST(:scope AS text) IS NULL OR scope IN ('global', :scope))
    AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  ORDER BY importance DESC, created_at DESC, id
  LIMIT :per_entity
) AS facts
ORDER BY facts.entity_id, importance DESC, facts.created_at DESC, facts.id;

-- name: graph_relations(fact_ids, limit)
-- The other entities that the given facts name.
SELECT
  facts.entity_id AS source_id, source.canonical_name AS source_name, facts.predicate, target.id AS target_id,
  target.canonical_name AS target_name
FROM facts
JOIN entities AS source ON source.tenant_id = facts.tenant_id AND source.id = facts.entity_id
CROSS JOIN LATERAL commonplace_mentioned(facts.id) AS named
JOIN entities AS target ON target.tenant_id = facts.tenant_id AND target.id = named
WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = ANY(CAST(:fact_ids AS uuid[]))
  AND named <> facts.entity_id
ORDER BY facts.importance DESC, facts.created_at DESC, facts.id, target.canonical_name
LIMIT :limit;

-- name: graph_links(ids, limit)
-- Links of the given memories in either direction, with the beginning of the text at each end.
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

-- name: graph_steps(ids, limit)
-- columns: to_id UUID
-- The edges from some entities and memories to others: active facts about entities, and links in either direction;
-- is_forward says whether the step goes the way of the relation.
SELECT from_id, to_id, to_kind, relation, is_forward FROM (
  SELECT entity_id AS from_id, id AS to_id, 'fact' AS to_kind, predicate AS relation, true AS is_forward FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active'
    AND entity_id = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT id, entity_id, 'entity', predicate, false FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active' AND entity_id IS NOT NULL
    AND id = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT source_id, target_id, target_type, relation, true FROM memory_links
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_id = ANY(CAST(:ids AS uuid[]))
  UNION ALL
  SELECT target_id, source_id, source_type, relation, false FROM memory_links
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND target_id = ANY(CAST(:ids AS uuid[]))
) AS steps
ORDER BY from_id, to_id
LIMIT :limit;
