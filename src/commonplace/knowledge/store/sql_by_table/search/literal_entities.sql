-- class: SearchStatements

-- name: literal_entities
-- The entities with words in their names, the newest first, with the numbers of their active facts; merged entities are
-- left out. See literal_search; about_ids are the entities that count whatever their names are.
SELECT
  id, canonical_name, entity_type, aliases, metadata, created_at, updated_at, CAST(NULL AS uuid) AS merged_into,
  (
    SELECT count(*) FROM facts
    WHERE facts.tenant_id = stored.tenant_id AND facts.entity_id = stored.id AND facts.validity = 'active'
  ) AS facts
FROM (
  SELECT m.*, ${bare_text} AS bare_text FROM entities AS m
  WHERE ${own} AND metadata ->> 'merged_into' IS NULL
    AND (CAST(:since AS timestamptz) IS NULL OR created_at >= CAST(:since AS timestamptz))
    AND (CAST(:until AS timestamptz) IS NULL OR created_at < CAST(:until AS timestamptz))
    AND (CAST(:as_of AS timestamptz) IS NULL OR created_at <= CAST(:as_of AS timestamptz))
  OFFSET 0
) AS stored
WHERE (CAST(:any_word AS text) IS NULL OR bare_text ~ CAST(:any_word AS text))
  AND (
    CAST(:about AS text) IS NULL OR id = ANY(CAST(:about_ids AS uuid[])) OR bare_text ~ CAST(:about AS text)
  )
ORDER BY created_at DESC, id
LIMIT CAST(:limit AS integer);
