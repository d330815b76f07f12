id, validity, subject, predicate, content, importance, confidence, decay_rate, permanence, scope, entity_id, source_butler,
  source, trust, flags, valid_from, valid_to, created_at, last_confirmed_at, tags - 'pinned' AS tags,
  tags @> '["pinned"]' AS pinned, metadata - CAST(ARRAY['status', 'waits'] AS text[]) AS metadata,
  CASE
    WHEN validity = 'superseded' THEN 'replaced'
    WHEN validity = 'held' AND NOT metadata ? 'waits' THEN 'held'
    ELSE 'current'
  END AS state
