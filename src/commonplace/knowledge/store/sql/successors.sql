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

-- name: superseded_by(memory_type, id)
-- columns: id UUID
-- The facts or rules that a fact or rule superseded.
SELECT target_id AS id FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND relation = 'supersedes' AND source_id = :id
  AND source_type = :memory_type AND target_type = :memory_type
ORDER BY target_id;
