-- What goes with deleted episodes: their links in both directions, and an event for each of the type event_type.
outgoing AS (
  DELETE FROM memory_links USING deleted WHERE source_type = 'episode' AND source_id = deleted.id
),
incoming AS (
  DELETE FROM memory_links USING deleted WHERE target_type = 'episode' AND target_id = deleted.id
),
events AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), event_type,
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id, 'before', to_jsonb(deleted) - ARRAY['id', 'event_type'], 'after', NULL
    )
  FROM deleted
)
