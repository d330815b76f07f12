-- What goes with deleted episodes: their links in both directions, and an event for each of the type event_type. Facts and
-- rules note the id of their source, so that other databases that have the episode still know it.
sourced_facts AS (
  UPDATE facts SET metadata = facts.metadata || jsonb_build_object('absent_source', facts.source_episode_id)
  FROM deleted
  WHERE facts.tenant_id = current_setting('commonplace.tenant_id') AND facts.source_episode_id = deleted.id
),
sourced_rules AS (
  UPDATE rules SET metadata = rules.metadata || jsonb_build_object('absent_source', rules.source_episode_id)
  FROM deleted
  WHERE rules.tenant_id = current_setting('commonplace.tenant_id') AND rules.source_episode_id = deleted.id
),
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
