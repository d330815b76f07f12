-- class: KindStatements
-- Statements that lock facts or rules and compare them.

-- name: lock(ids)
-- columns: id UUID, lives bool
-- Lock memories until the transaction ends. Return those that are live.
SELECT id, ${lives} AS lives FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY id
FOR UPDATE;

-- name: by_trust_and_age(ids)
-- columns: id UUID
-- Memories by their trust: the less trusted one first, then one with flags, then the older one.
SELECT id FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
ORDER BY commonplace_trust(trust), flags = '[]', created_at, id;

-- name: is_outranked(id)$
-- returns: bool | None
-- Whether a memory is more trusted than the source of what the transaction writes.
SELECT commonplace_trust(trust) > commonplace_trust(commonplace_source()) FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: confirmed_at(id)$
-- returns: datetime | None
-- When a memory was last confirmed.
SELECT last_confirmed_at FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: unlink_opposed(newer_id, older_id)!
-- Remove the link by which a newer memory contradicts an older one, because another link takes its place.
DELETE FROM memory_links
WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = '${memory_type}' AND source_id = :newer_id
  AND target_type = '${memory_type}' AND target_id = :older_id AND relation = 'contradicts';
