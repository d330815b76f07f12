-- Subjects of facts and the entities that they name, and relations between entities.

-- name: subject_entities(keys)
-- columns: name_key str, id UUID, is_canonical bool
-- The living entities with one of some folded names, and whether it is the canonical name.
SELECT
  names.name_key, entities.id,
  starts_with(entities.name_keys, chr(10) || names.name_key || chr(10)) AS is_canonical
FROM entity_names AS names JOIN entities ON entities.id = names.entity_id
WHERE names.tenant_id = current_setting('commonplace.tenant_id') AND entities.tenant_id = names.tenant_id
  AND names.name_key = ANY(CAST(:keys AS text[]));

-- name: names_alike(names)
-- columns: name str
-- The names that begin like a name of a living entity.
SELECT name FROM unnest(CAST(:names AS text[])) AS name
WHERE EXISTS (
  SELECT FROM entity_names AS known
  WHERE known.tenant_id = current_setting('commonplace.tenant_id') AND (
    starts_with(known.words || ' ', commonplace_spaced(lower(name)) || ' ')
    OR starts_with(commonplace_spaced(lower(name)) || ' ', known.words || ' ')
  )
);

-- name: unlinked_keys(subjects)
-- columns: id UUID, scope str, subject str, predicate str
-- The keys of the active facts about some subjects that have no entity, by id.
SELECT id, scope, subject, predicate FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND subject = ANY(CAST(:subjects AS text[]))
  AND entity_id IS NULL AND validity = 'active'
ORDER BY id;

-- name: link_facts(scopes, subjects, predicates, entity_ids)
-- Gives the active facts of some keys their entity, unless it has an active fact of the same predicate and scope.
WITH wanted AS (
  SELECT DISTINCT ON (facts.scope, facts.predicate, key.entity_id) facts.id, key.entity_id
  FROM unnest(
    CAST(:scopes AS text[]), CAST(:subjects AS text[]), CAST(:predicates AS text[]), CAST(:entity_ids AS uuid[])
  ) AS key (scope, subject, predicate, entity_id)
  JOIN facts ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.scope = key.scope
    AND facts.subject = key.subject AND facts.predicate = key.predicate
    AND facts.entity_id IS NULL AND facts.validity = 'active'
  WHERE NOT EXISTS (
    SELECT FROM facts AS held
    WHERE held.tenant_id = current_setting('commonplace.tenant_id') AND held.entity_id = key.entity_id
      AND held.scope = key.scope AND held.predicate = key.predicate AND held.validity = 'active'
  )
  ORDER BY facts.scope, facts.predicate, key.entity_id, facts.created_at DESC, facts.id
),
locked AS (
  SELECT facts.id, wanted.entity_id FROM facts JOIN wanted ON facts.id = wanted.id
  ORDER BY facts.id
  FOR UPDATE OF facts
),
linked AS (
  UPDATE facts SET entity_id = locked.entity_id FROM locked
  WHERE facts.id = locked.id AND facts.validity = 'active' AND facts.entity_id IS NULL
  RETURNING facts.id, facts.entity_id
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_linked',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'before', jsonb_build_object('entity_id', NULL),
      'after', jsonb_build_object('entity_id', entity_id)
    )
  FROM linked
)
SELECT id FROM linked;

-- name: by_trust(id, entity_id, scope, predicate)
-- columns: id UUID
-- A fact without an entity and the active fact of an entity with its predicate and scope: the less trusted fact first,
-- then a fact with flags, then the older fact.
SELECT id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND (
  id = :id
  OR entity_id = CAST(:entity_id AS uuid) AND scope = :scope AND predicate = :predicate AND validity = 'active'
)
ORDER BY commonplace_trust(trust), flags = '[]', created_at, id;

-- name: subject_candidates(limit)
-- Subjects of active facts without an entity that may name an entity, and that no person told apart from it: several
-- entities have the name, or the subject and the name begin alike. The newest fact of each subject.
WITH unlinked AS (
  SELECT DISTINCT ON (subject)
    id, subject, left(subject || ' ' || predicate || ': ' || content, 300) AS text, created_at,
    commonplace_spaced(lower(subject)) AS words
  FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active' AND entity_id IS NULL
  ORDER BY subject, created_at DESC, id
),
pairs AS (
  SELECT DISTINCT unlinked.id, unlinked.subject, unlinked.text, unlinked.created_at, names.entity_id
  FROM unlinked JOIN entity_names AS names
    ON names.tenant_id = current_setting('commonplace.tenant_id')
    AND split_part(names.words, ' ', 1) = split_part(unlinked.words, ' ', 1)
  WHERE unlinked.words <> ''
    AND (starts_with(names.words || ' ', unlinked.words || ' ') OR starts_with(unlinked.words || ' ', names.words || ' '))
)
SELECT
  pairs.id AS fact_id, pairs.subject, pairs.text, pairs.entity_id, entities.canonical_name, entities.entity_type
FROM pairs JOIN entities ON entities.id = pairs.entity_id
WHERE entities.tenant_id = current_setting('commonplace.tenant_id') AND NOT EXISTS (
  SELECT FROM told_apart
  JOIN facts ON facts.tenant_id = told_apart.tenant_id AND facts.id IN (told_apart.first_id, told_apart.second_id)
  WHERE told_apart.tenant_id = current_setting('commonplace.tenant_id')
    AND pairs.entity_id IN (told_apart.first_id, told_apart.second_id) AND facts.subject = pairs.subject
)
ORDER BY pairs.created_at DESC, pairs.id, entities.canonical_name, entities.id
LIMIT :limit;

-- name: last_subject_decision(fact_id, entity_id)^
-- columns: facts list[str] | None, superseded list[list[str]], alias_added bool
-- The content of the newest decision, or undo of one, on whether the subject of a fact is an entity; or nothing.
SELECT
  payload -> 'after' -> 'facts' AS facts, payload -> 'after' -> 'superseded' AS superseded,
  payload -> 'after' -> 'alias_added' AS alias_added
FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND event_type IN ('review_decided', 'review_reopened')
  AND payload ->> 'memory_id' = :fact_id AND payload -> 'after' ->> 'other' = :entity_id
ORDER BY created_at DESC, id
LIMIT 1;

-- name: keys_of_facts(ids)
-- columns: id UUID, scope str, subject str, predicate str
-- The keys of some facts without their entities.
SELECT id, scope, subject, predicate FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: unlink_facts(ids, entity_id)!
-- Removes an entity from some facts, except from an active fact whose key an active fact without an entity also has.
UPDATE facts SET entity_id = NULL
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND entity_id = CAST(:entity_id AS uuid) AND NOT (
    validity = 'active' AND EXISTS (
      SELECT FROM facts AS held
      WHERE held.tenant_id = current_setting('commonplace.tenant_id') AND held.entity_id IS NULL
        AND held.scope = facts.scope AND held.subject = facts.subject AND held.predicate = facts.predicate
        AND held.validity = 'active'
    )
  );

-- name: relations(entity_id, scopes, as_of, valid_at, now, limit)
-- columns: created_at datetime
-- Relations of an entity in either direction, the latest fact first.
SELECT
  facts.id AS fact_id, facts.predicate, left(facts.content, 300) AS text, facts.scope, facts.created_at,
  facts.entity_id AS source_id,
  source.canonical_name AS source_name, target.id AS target_id, target.canonical_name AS target_name
FROM (
  SELECT id FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = CAST(:entity_id AS uuid)
  UNION
  SELECT mention.fact_id FROM entity_names AS names JOIN fact_mentions AS mention
    ON mention.tenant_id = names.tenant_id AND mention.words = names.words
  WHERE names.tenant_id = current_setting('commonplace.tenant_id') AND names.entity_id = CAST(:entity_id AS uuid)
) AS near
JOIN facts ON facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = near.id
CROSS JOIN LATERAL commonplace_mentioned(facts.id) AS named
JOIN entities AS source ON source.tenant_id = current_setting('commonplace.tenant_id') AND source.id = facts.entity_id
JOIN entities AS target ON target.tenant_id = current_setting('commonplace.tenant_id') AND target.id = named
WHERE named <> facts.entity_id AND CAST(:entity_id AS uuid) IN (named, facts.entity_id)
  AND CASE
    WHEN CAST(:as_of AS timestamptz) IS NULL AND CAST(:valid_at AS timestamptz) IS NULL
      THEN facts.validity = 'active' AND (facts.valid_to IS NULL OR facts.valid_to > CAST(:now AS timestamptz))
        AND (CAST(:scopes AS text[]) IS NULL OR facts.scope = ANY(CAST(:scopes AS text[])))
    ELSE (
      SELECT known.scope IS NOT NULL AND (CAST(:scopes AS text[]) IS NULL OR known.scope = ANY(CAST(:scopes AS text[])))
      FROM commonplace_fact_then(
        facts.id, facts.created_at, facts.confidence, facts.decay_rate, CAST(:as_of AS timestamptz),
        CAST(:valid_at AS timestamptz), coalesce(CAST(:as_of AS timestamptz), CAST(:now AS timestamptz)), NULL
      ) AS known (scope)
    )
  END
ORDER BY facts.created_at DESC, facts.id, target.canonical_name, target.id
LIMIT :limit;
