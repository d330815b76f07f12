id, validity, subject, predicate, content, importance, confidence, decay_rate, permanence, scope, entity_id, source_butler,
  source, trust, flags, valid_from, valid_to, created_at, last_confirmed_at, tags - 'pinned' AS tags,
  tags @> '["pinned"]' AS pinned, metadata - CAST(ARRAY['status', 'waits', 'absent_source'] AS text[]) AS metadata,
  CASE
    WHEN source_episode_id IS NOT NULL THEN CAST(source_episode_id AS text)
    WHEN metadata ->> 'absent_source' ~ '^[0-9a-f-]{36}$' THEN metadata ->> 'absent_source'
  END AS source_episode_id,
  CASE
    WHEN validity = 'superseded' THEN 'replaced'
    WHEN validity = 'held' AND NOT metadata ? 'waits' THEN 'held'
    ELSE 'current'
  END AS state
