-- Entities. Lock order: entities by ascending id, then their facts by ascending id.

-- name: entity_insert(canonical_name, entity_type, aliases, metadata, name_keys)^
-- Adds an entity and returns it; returns nothing if an entity has this name and type.
INSERT INTO entities (tenant_id, canonical_name, entity_type, aliases, metadata, name_keys)
VALUES (
  current_setting('commonplace.tenant_id'), :canonical_name, :entity_type, CAST(:aliases AS text[]),
  CAST(:metadata AS jsonb), :name_keys
)
ON CONFLICT (tenant_id, canonical_name, entity_type) DO NOTHING
RETURNING *;

-- name: entity_named(canonical_name, entity_type)^
-- columns: id UUID
-- The entity with a name and type, or nothing.
SELECT * FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND canonical_name = :canonical_name AND entity_type = :entity_type;

-- name: entities_between(first, last, most)
-- columns: id UUID, content str
-- Return the first entities of a range of ids, with their names.
SELECT id, canonical_name AS content FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id BETWEEN :first AND :last
ORDER BY id
LIMIT CAST(:most AS integer);

-- name: entity_by_id(id)^
-- One entity with the last entity of its chain of merges, or nothing.
WITH RECURSIVE chain AS (
  SELECT id, CAST(metadata ->> 'merged_into' AS uuid) AS next FROM entities
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
  UNION
  SELECT e.id, CAST(e.metadata ->> 'merged_into' AS uuid) FROM entities AS e
  JOIN chain ON e.id = chain.next AND e.tenant_id = current_setting('commonplace.tenant_id')
)
SELECT entities.*, (SELECT chain.id FROM chain WHERE next IS NULL) AS survivor_id
FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: entity_lock(ids)
-- columns: id UUID
-- Locks entities in ascending order of their ids, and returns them.
SELECT * FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR UPDATE;

-- name: entity_write(id, canonical_name, aliases, metadata, name_keys, updated_at)^
-- Writes the fields of an entity that can change and returns it; :updated_at defaults to now.
UPDATE entities
SET canonical_name = :canonical_name, aliases = CAST(:aliases AS text[]), metadata = CAST(:metadata AS jsonb),
    name_keys = :name_keys, updated_at = coalesce(CAST(:updated_at AS timestamptz), now())
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
RETURNING *;

-- name: entity_search(key, entity_type, preferred, limit)
-- Entities whose names contain a text, without merged entities: preferred entities first, then matches of the canonical
-- name, of an alias, of a part. Entities without folded names are added for the caller to check.
(
  SELECT id, canonical_name, entity_type, aliases, name_keys FROM entities
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND strpos(name_keys, CAST(:key AS text)) > 0
    AND entity_type = coalesce(CAST(:entity_type AS text), entity_type)
    AND metadata ->> 'merged_into' IS NULL
  ORDER BY
    id = ANY(CAST(:preferred AS uuid[])) DESC,
    CASE
      WHEN starts_with(name_keys, chr(10) || CAST(:key AS text) || chr(10)) THEN 0
      WHEN strpos(name_keys, chr(10) || CAST(:key AS text) || chr(10)) > 0 THEN 1
      ELSE 2
    END,
    canonical_name COLLATE "C", id
  LIMIT :limit
)
UNION ALL
(
  SELECT id, canonical_name, entity_type, aliases, name_keys FROM entities
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND name_keys IS NULL
    AND entity_type = coalesce(CAST(:entity_type AS text), entity_type)
    AND metadata ->> 'merged_into' IS NULL
);

-- name: entity_holding(pieces, least, entity_type)
-- Entities whose names contain at least :least of some pieces of text, and entities without folded names.
SELECT id, canonical_name, entity_type, aliases, name_keys FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND (
    name_keys IS NULL
    OR :least <= (SELECT count(*) FROM unnest(CAST(:pieces AS text[])) AS piece WHERE strpos(name_keys, piece) > 0)
  )
  AND entity_type = coalesce(CAST(:entity_type AS text), entity_type)
  AND metadata ->> 'merged_into' IS NULL;

-- name: entity_neighbourhood(ids, limit)
-- columns: entity_id UUID, predicate str, content str
-- Predicate and content of the newest active facts of each of several entities.
SELECT candidate.id AS entity_id, fact.predicate, fact.content
FROM unnest(CAST(:ids AS uuid[])) AS candidate (id)
CROSS JOIN LATERAL (
  SELECT predicate, left(content, 2000) AS content FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id')
    AND entity_id = candidate.id AND validity = 'active'
  ORDER BY created_at DESC, facts.id
  LIMIT :limit
) AS fact;

-- name: entity_lock_facts(entity_ids, fact_ids)
-- Locks all facts of some entities, and of the entities of some facts, in ascending order of their ids; returns the
-- columns that a merge needs.
SELECT id, entity_id, scope, predicate, validity, confidence, trust, flags, supersedes_id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND entity_id IN (
    SELECT unnest(CAST(:entity_ids AS uuid[]))
    UNION
    SELECT entity_id FROM facts
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:fact_ids AS uuid[]))
  )
ORDER BY id
FOR UPDATE OF facts;

-- name: entity_set_validity(ids, validities)!
-- Sets the validity of each of several facts.
UPDATE facts SET validity = wanted.validity
FROM unnest(CAST(:ids AS uuid[]), CAST(:validities AS text[])) AS wanted (id, validity)
WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = wanted.id;

-- name: entity_point_facts(ids, entity_ids, supersedes_ids)!
-- Sets the entity and the superseded fact of each of several facts.
UPDATE facts SET entity_id = wanted.entity_id, supersedes_id = wanted.supersedes_id
FROM unnest(CAST(:ids AS uuid[]), CAST(:entity_ids AS uuid[]), CAST(:supersedes_ids AS uuid[]))
  AS wanted (id, entity_id, supersedes_id)
WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id = wanted.id;

-- name: entity_link_superseded(winners, losers)
-- columns: source_id UUID, target_id UUID
-- Links each winning fact to the fact that it superseded; returns the new links.
INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation)
SELECT current_setting('commonplace.tenant_id'), 'fact', pair.winner, 'fact', pair.loser, 'supersedes'
FROM unnest(CAST(:winners AS uuid[]), CAST(:losers AS uuid[])) AS pair (winner, loser)
ON CONFLICT DO NOTHING
RETURNING source_id, target_id;

-- name: entity_unlink_superseded(winners, losers)!
-- Removes supersedes links between facts.
DELETE FROM memory_links USING unnest(CAST(:winners AS uuid[]), CAST(:losers AS uuid[])) AS pair (winner, loser)
WHERE memory_links.tenant_id = current_setting('commonplace.tenant_id')
  AND source_type = 'fact' AND source_id = pair.winner AND target_type = 'fact' AND target_id = pair.loser
  AND relation = 'supersedes';

-- name: entity_last_merge(source_entity_id, target_entity_id)^
-- columns: id UUID, payload dict[str, object]
-- The newest event of one entity's merge into another, or nothing.
SELECT id, payload FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND event_type = 'entity_merge'
  AND payload ->> 'source_entity_id' = CAST(:source_entity_id AS text)
  AND payload ->> 'target_entity_id' = CAST(:target_entity_id AS text)
ORDER BY created_at DESC, id
LIMIT 1;
