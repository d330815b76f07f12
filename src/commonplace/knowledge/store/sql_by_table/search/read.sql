-- class: SearchStatements

-- name: read_memories
-- columns: memory_type str, is_pinned bool, is_stale bool, start_char int | None, end_char int | None
-- Memories by their ids, and the pinned facts and rules, the most important of each type; the columns of other types are
-- null. Of a long fact or rule also the place of the passage that is nearest to the query.
SELECT
  wanted.memory_type, wanted.is_pinned, passage.start_char, passage.end_char, ${columns},
  wanted.memory_type <> 'episode' AND (
    commonplace_is_stale(
      wanted.memory_type, wanted.id, coalesce(fact.last_confirmed_at, rule.last_confirmed_at)
    )
    OR ${forgotten_episode}
  ) AS is_stale
FROM (
  SELECT CAST('episode' AS text) AS memory_type, id, false AS is_pinned
  FROM unnest(CAST(:episode_ids AS uuid[])) AS id
  UNION ALL
  SELECT 'fact', id, false FROM unnest(CAST(:fact_ids AS uuid[])) AS id
  UNION ALL
  SELECT 'rule', id, false FROM unnest(CAST(:rule_ids AS uuid[])) AS id
  UNION ALL
  (
    SELECT 'fact', m.id, true FROM facts AS m
    WHERE ${own_fact} AND ${active_fact} AND m.tags @> '["pinned"]'
    ORDER BY m.importance DESC, m.created_at DESC, m.id
    LIMIT CAST(:pinned AS integer)
  )
  UNION ALL
  (
    SELECT 'rule', m.id, true FROM rules AS m
    WHERE ${own_rule} AND ${active_rule} AND m.tags @> '["pinned"]'
    ORDER BY m.created_at DESC, m.id
    LIMIT CAST(:pinned AS integer)
  )
) AS wanted
LEFT JOIN LATERAL (
  SELECT * FROM episodes AS m WHERE wanted.memory_type = 'episode' AND m.id = wanted.id AND ${own_episode} OFFSET 0
) AS episode ON true
LEFT JOIN LATERAL (
  SELECT * FROM facts AS m WHERE wanted.memory_type = 'fact' AND m.id = wanted.id AND ${own_fact} OFFSET 0
) AS fact ON true
LEFT JOIN LATERAL (
  SELECT * FROM rules AS m WHERE wanted.memory_type = 'rule' AND m.id = wanted.id AND ${own_rule} OFFSET 0
) AS rule ON true
LEFT JOIN LATERAL (
  SELECT start_char, end_char
  FROM (
    SELECT start_char, end_char, place, embedding FROM fact_passages AS p
    WHERE wanted.memory_type = 'fact' AND p.tenant_id = current_setting('commonplace.tenant_id', true)
      AND p.memory_id = wanted.id
    UNION ALL
    SELECT start_char, end_char, place, embedding FROM rule_passages AS p
    WHERE wanted.memory_type = 'rule' AND p.tenant_id = current_setting('commonplace.tenant_id', true)
      AND p.memory_id = wanted.id
  ) AS p
  WHERE CAST(:embedding AS vector(384)) IS NOT NULL
  ORDER BY (embedding <=> CAST(CAST(:embedding AS vector(384)) AS halfvec(384))) + 0, place
  LIMIT 1
) AS passage ON true
WHERE coalesce(episode.id, fact.id, rule.id) IS NOT NULL;
