-- Single memories for people. Nothing here counts as a reading of a memory.

-- name: read_rule(id)^
-- One rule, forgotten or not.
SELECT ${rule_columns} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: read_episode(id)^
-- One episode, expired or not.
SELECT ${episode_columns} FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: read_fact(id)^
-- One fact, whatever its validity.
SELECT ${fact_columns} FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: linked_texts(ids)
-- A few words of each of some memories of any kind, with where it stands: a fact's validity, a rule's maturity, an
-- episode's state of consolidation.
SELECT 'episode' AS memory_type, id, left(content, 300) AS text, consolidation_status AS state FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT 'fact', id, left(subject || ' ' || predicate || ': ' || content, 300), validity FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
UNION ALL
SELECT 'rule', id, left(content, 300), maturity FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));

-- name: facts_of_entities(entity_ids)
-- All facts of some entities, with what a merge looks at and what a person reads; by id.
SELECT id, entity_id, scope, subject, predicate, content, validity, confidence, supersedes_id FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND entity_id = ANY(CAST(:entity_ids AS uuid[]))
ORDER BY id;

-- name: names_of(ids, now)
-- A few words each by which memories and entities are known as they are now; none of what was forgotten or is over.
SELECT id, left(subject || ' ' || predicate, 120) AS name FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[])) AND validity <> 'retracted'
UNION ALL
SELECT id, left(content, 120) FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND (metadata -> 'forgotten') IS DISTINCT FROM 'true'
UNION ALL
SELECT id, left(content, 120) FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]))
  AND (expires_at IS NULL OR expires_at > :now)
UNION ALL
SELECT id, left(canonical_name, 120) FROM entities
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = ANY(CAST(:ids AS uuid[]));
