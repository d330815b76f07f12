id, content, scope, maturity, confidence, decay_rate, permanence, source_butler, source, trust, flags, created_at,
  last_confirmed_at, tags - 'pinned' AS tags, tags @> '["pinned"]' AS pinned,
  metadata - CAST(ARRAY['status', 'forgotten', 'needs_inversion', 'absent_source'] AS text[]) AS metadata,
  CASE
    WHEN source_episode_id IS NOT NULL THEN CAST(source_episode_id AS text)
    WHEN metadata ->> 'absent_source' ~ '^[0-9a-f-]{36}$' THEN metadata ->> 'absent_source'
  END AS source_episode_id,
  CASE
    WHEN (metadata -> 'forgotten') IS DISTINCT FROM 'true' THEN 'current'
    WHEN EXISTS (
      SELECT FROM memory_links AS link
      WHERE link.tenant_id = rules.tenant_id AND link.source_type = 'rule' AND link.target_type = 'rule'
        AND link.target_id = rules.id AND link.relation = 'supersedes'
    ) THEN 'replaced'
    WHEN (
      SELECT event_type FROM memory_events AS event
      WHERE event.tenant_id = rules.tenant_id AND event.about_id = CAST(rules.id AS text)
        AND event_type IN ('rule_expired', 'rule_forgotten', 'rule_restored')
      ORDER BY event.created_at DESC LIMIT 1
    ) = 'rule_expired' THEN 'expired'
    ELSE 'forgotten'
  END AS state
