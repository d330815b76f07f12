-- name: successor_of_fact(id)$
-- returns: UUID | None
-- The fact that superseded a fact, or the latest fact of a chain of such facts; NULL if it is not known.
WITH RECURSIVE newer AS (
  SELECT CAST(:id AS uuid) AS id
  UNION
  SELECT links.source_id
  FROM memory_links AS links JOIN newer ON links.target_id = newer.id
  WHERE links.tenant_id = current_setting('commonplace.tenant_id') AND links.relation = 'supersedes'
    AND links.source_type = 'fact' AND links.target_type = 'fact'
)
SELECT facts.id FROM facts JOIN newer ON newer.id = facts.id
WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.id <> :id
  AND facts.validity <> 'retracted'
ORDER BY facts.validity = 'active' DESC, facts.created_at DESC, facts.id
LIMIT 1;
