-- name: related_facts
-- Facts about the entities that some facts name, the nearest to the topic first. The topic names the entity that a naming
-- fact is about, and not the entity that the fact leads to.
WITH asked AS MATERIALIZED (
  SELECT names.entity_id
  FROM commonplace_phrases(lower(:query)) AS phrase JOIN entity_names AS names
    ON names.tenant_id = current_setting('commonplace.tenant_id') AND names.words = phrase
),
hop AS MATERIALIZED (
  SELECT named.entity, min(CAST(told.id AS text)) AS told_id
  FROM facts AS told, LATERAL commonplace_mentioned(told.id) AS named (entity)
  WHERE told.tenant_id = current_setting('commonplace.tenant_id') AND told.id = ANY(CAST(:told_ids AS uuid[]))
    AND told.entity_id IN (SELECT entity_id FROM asked) AND named.entity NOT IN (SELECT entity_id FROM asked)
  GROUP BY named.entity
),
near AS MATERIALIZED (
  SELECT m.id, m.created_at, 1 - (m.embedding <=> CAST(:embedding AS vector(384))) AS similarity, hop.told_id
  FROM hop, LATERAL (
    SELECT * FROM facts AS m WHERE m.entity_id = hop.entity AND ${own} AND ${live} OFFSET 0
  ) AS m
  WHERE m.id <> ALL(CAST(:found_ids AS uuid[])) AND m.embedding IS NOT NULL
)
SELECT ${columns}, ${stale} AS is_stale, near.told_id, near.similarity
FROM near, LATERAL (SELECT * FROM facts AS m WHERE m.id = near.id OFFSET 0) AS m
WHERE near.similarity >= CAST(:least AS float8)
ORDER BY near.similarity DESC, near.created_at DESC, near.id
LIMIT :most;
