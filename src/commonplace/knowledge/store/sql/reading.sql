-- Single memories for people. Reading them does not count as a use.

-- name: linked_texts(ids)
-- columns: memory_type str, id UUID, text str, state str | None
-- The beginning of the text of each memory, with the validity of a fact, the maturity of a rule or the consolidation
-- status of an episode.
SELECT 'episode' AS memory_type, id, left(content, 300) AS text, consolidation_status AS state FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT 'fact', id, left(subject || ' ' || predicate || ': ' || content, 300), validity FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT 'rule', id, left(content, 300), maturity FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: facts_of_entities(entity_ids)
-- columns: id UUID
-- All facts of the given entities, by id, with the columns that a merge compares and a person reads.
SELECT id, entity_id, scope, subject, predicate, content, validity, confidence, trust, flags, supersedes_id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = ANY(CAST(:entity_ids AS uuid[]))
ORDER BY id;

-- name: names_of(ids, now)
-- columns: id UUID, name str
-- Short names of memories and entities, without forgotten memories and expired episodes.
SELECT id, left(subject || ' ' || predicate || ': ' || content, 120) AS name FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[])) AND validity <> 'retracted'
UNION ALL
SELECT id, left(content, 120) FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND ${rule_lives}
UNION ALL
SELECT id, left(content, 120) FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND (expires_at IS NULL OR expires_at > :now)
UNION ALL
SELECT id, left(canonical_name, 120) FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: scopes_of(ids)
-- columns: id UUID, scope str
-- Scopes of facts and rules.
SELECT id, scope FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT id, scope FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));
