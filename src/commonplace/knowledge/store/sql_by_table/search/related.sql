-- class: SearchStatements

-- name: related_facts
-- columns: told_id UUID, similarity float, is_stale bool
-- Facts about the entities that some facts name, the nearest to the topic first. The topic names the entity that a naming
-- fact is about, and not the entity that the fact leads to. The first words of a name are a name, too, if only one entity
-- has them.
WITH known AS MATERIALIZED (
  SELECT phrase, names.entity_id, names.words = phrase AS is_whole
  FROM commonplace_phrases(lower(:query)) AS phrase, LATERAL (
    SELECT entity_id, words FROM entity_names
    WHERE tenant_id = current_setting('commonplace.tenant_id') AND words >= phrase AND words < phrase || '!'
    OFFSET 0
  ) AS names
),
asked AS MATERIALIZED (
  SELECT entity_id FROM known WHERE is_whole
  UNION
  SELECT CAST(min(CAST(entity_id AS text)) AS uuid) FROM known
  GROUP BY phrase HAVING count(DISTINCT entity_id) = 1
),
passages AS MATERIALIZED (SELECT EXISTS (SELECT FROM ${passages} AS p WHERE ${own_passages}) AS exist),
hop AS MATERIALIZED (
  SELECT named.entity, min(array_position(CAST(:told_ids AS uuid[]), told.id)) AS place
  FROM facts AS told, LATERAL commonplace_mentioned(told.id) AS named (entity)
  WHERE told.tenant_id = current_setting('commonplace.tenant_id') AND told.id = ANY(CAST(:told_ids AS uuid[]))
    AND told.entity_id IN (SELECT entity_id FROM asked) AND named.entity NOT IN (SELECT entity_id FROM asked)
  GROUP BY named.entity
),
near AS MATERIALIZED (
  SELECT
    m.id, m.created_at, hop.place,
    1 - least(m.embedding <=> CAST(:embedding AS vector(384)), ${passage_distance}) AS similarity
  FROM hop, LATERAL (
    SELECT * FROM facts AS m WHERE m.entity_id = hop.entity AND ${own} AND ${live} OFFSET 0
  ) AS m
  WHERE m.id <> ALL(CAST(:found_ids AS uuid[])) AND m.embedding IS NOT NULL
)
SELECT ${columns}, ${stale} AS is_stale, (CAST(:told_ids AS uuid[]))[near.place] AS told_id, near.similarity
FROM near, LATERAL (SELECT * FROM facts AS m WHERE m.id = near.id OFFSET 0) AS m
WHERE near.similarity >= CASE near.place WHEN 1 THEN CAST(:least_of_best AS float8) ELSE CAST(:least AS float8) END
ORDER BY near.similarity DESC, near.created_at DESC, near.id
LIMIT :most;
