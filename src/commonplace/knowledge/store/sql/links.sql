-- name: create_link(source_type, source_id, target_type, target_id, relation, now)^
-- returns: Row
-- columns: source_exists bool, target_exists bool, is_new bool
-- Link two memories that exist and write the event, unless a link exists.
WITH ends AS (
  SELECT
    CASE CAST(:source_type AS text)
      WHEN 'episode' THEN EXISTS (SELECT FROM episodes WHERE id = :source_id)
      WHEN 'fact' THEN EXISTS (SELECT FROM facts WHERE id = :source_id)
      ELSE EXISTS (SELECT FROM rules WHERE id = :source_id)
    END AS source_exists,
    CASE CAST(:target_type AS text)
      WHEN 'episode' THEN EXISTS (SELECT FROM episodes WHERE id = :target_id)
      WHEN 'fact' THEN EXISTS (SELECT FROM facts WHERE id = :target_id)
      ELSE EXISTS (SELECT FROM rules WHERE id = :target_id)
    END AS target_exists
),
created AS (
  INSERT INTO memory_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT
    current_setting('commonplace.tenant_id'), :source_type, :source_id, :target_type, :target_id, :relation, :now
  FROM ends WHERE source_exists AND target_exists
  ON CONFLICT DO NOTHING
  RETURNING source_type, source_id, target_type, target_id, relation
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'link_created',
    jsonb_build_object('before', NULL, 'after', to_jsonb(created))
  FROM created
)
SELECT source_exists, target_exists, EXISTS (SELECT FROM created) AS is_new FROM ends;

-- name: get_links(memory_type, memory_id, outgoing, incoming)
-- columns: source_type str, source_id UUID, target_type str, target_id UUID, relation str, created_at datetime
-- The links of a memory, oldest first, then by their ends.
SELECT source_type, source_id, target_type, target_id, relation, created_at FROM memory_links
WHERE (CAST(:outgoing AS boolean) AND source_type = :memory_type AND source_id = :memory_id)
  OR (CAST(:incoming AS boolean) AND target_type = :memory_type AND target_id = :memory_id)
ORDER BY created_at, source_type, source_id, target_type, target_id;
