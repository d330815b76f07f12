-- Memories of one session, and rules that did harm.

-- name: list_of_session(session_id, now)
-- Episodes of a session that have not expired, and the active facts and rules that were learned from its episodes, the
-- oldest first.
WITH said AS MATERIALIZED (
  SELECT id, content, created_at, expires_at FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND session_id = :session_id
),
learned AS MATERIALIZED (
  SELECT source_type, source_id FROM memory_links
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND target_type = 'episode'
    AND target_id IN (SELECT id FROM said) AND relation = 'derived_from'
)
SELECT memory_type, id, text FROM (
  SELECT 'episode' AS memory_type, id, left(content, 300) AS text, created_at
  FROM said WHERE expires_at IS NULL OR expires_at > :now
  UNION ALL
  SELECT 'fact', id, left(subject || ' ' || predicate || ': ' || content, 300), created_at FROM facts
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND validity = 'active' AND (
    source_episode_id IN (SELECT id FROM said)
    OR id IN (SELECT source_id FROM learned WHERE source_type = 'fact')
  )
  UNION ALL
  SELECT 'rule', id, left(content, 300), created_at FROM rules
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND ${rule_lives} AND (
    source_episode_id IN (SELECT id FROM said)
    OR id IN (SELECT source_id FROM learned WHERE source_type = 'rule')
  )
) AS found
ORDER BY created_at, id;

-- name: list_harmful_rules(limit)
-- Rules that did harm, in any state, the latest judgement first.
SELECT ${rule_columns} FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id') AND harmful_count > 0
ORDER BY last_evaluated_at DESC, id
LIMIT :limit;
