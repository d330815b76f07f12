-- class: KindStatements
-- Statements for a fact or a rule; kinds.py fills in the placeholders.

-- name: confirm(id, now)$
-- returns: UUID | None
-- Restart the decay of a live memory, for which a person then vouches, and write the event. Return the id of a
-- confirmed memory.
WITH known AS (
  SELECT id, last_confirmed_at, trust FROM ${memories} WHERE id = :id AND ${lives} FOR UPDATE
),
changed AS (
  UPDATE ${memories} SET
    last_confirmed_at = :now,
    trust = CASE WHEN commonplace_source() = 'person' THEN 'person' ELSE ${memories}.trust END
  FROM known WHERE ${memories}.id = known.id
  RETURNING
    ${memories}.id, known.last_confirmed_at AS confirmed_before, ${memories}.last_confirmed_at, known.trust AS trust_before,
    ${memories}.trust
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), '${memory_type}_confirmed',
    jsonb_build_object(
      'memory_type', '${memory_type}', 'memory_id', id,
      'before', jsonb_build_object('last_confirmed_at', confirmed_before, 'trust', trust_before),
      'after', jsonb_build_object('last_confirmed_at', last_confirmed_at, 'trust', trust)
    )
  FROM changed
)
SELECT id FROM known;

-- name: tag(id, tag, tagged)$
-- returns: UUID | None
-- Add a tag to a live memory, or remove it, and write the event if the tags change. Return the id of a live memory.
WITH known AS (
  SELECT id, tags, tags @> jsonb_build_array(CAST(:tag AS text)) AS had_tag FROM ${memories}
  WHERE id = :id AND ${lives}
  FOR UPDATE
),
changed AS (
  UPDATE ${memories} SET
    tags = CASE WHEN CAST(:tagged AS boolean) THEN known.tags || jsonb_build_array(CAST(:tag AS text))
      ELSE known.tags - CAST(:tag AS text) END
  FROM known WHERE ${memories}.id = known.id AND known.had_tag <> CAST(:tagged AS boolean)
  RETURNING ${memories}.id, known.had_tag, jsonb_array_length(known.tags) AS tags_before, jsonb_array_length(${memories}.tags) AS tags
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'),
    CASE
      WHEN :tag = 'pinned' THEN CASE WHEN had_tag THEN '${memory_type}_unpinned' ELSE '${memory_type}_pinned' END
      WHEN had_tag THEN '${memory_type}_untagged' ELSE '${memory_type}_tagged'
    END,
    jsonb_build_object('memory_type', '${memory_type}', 'memory_id', id) || CASE
      WHEN :tag = 'pinned' THEN jsonb_build_object(
        'before', jsonb_build_object('pinned', had_tag), 'after', jsonb_build_object('pinned', NOT had_tag)
      )
      ELSE jsonb_build_object(
        'before', jsonb_build_object('tags', tags_before), 'after', jsonb_build_object('tags', tags)
      )
    END
  FROM changed
)
SELECT id FROM known;

-- name: unconfirm(id, confirmed_before, confirmed_at)$
-- returns: UUID | None
-- Restore the last confirmation of a memory, unless it was confirmed since, and write the event. Return its id, or nothing.
WITH changed AS (
  UPDATE ${memories} SET last_confirmed_at = :confirmed_before WHERE id = :id AND last_confirmed_at = :confirmed_at
  RETURNING id, last_confirmed_at
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), '${memory_type}_unconfirmed',
    jsonb_build_object(
      'memory_type', '${memory_type}', 'memory_id', id,
      'before', jsonb_build_object('last_confirmed_at', CAST(:confirmed_at AS timestamptz)),
      'after', jsonb_build_object('last_confirmed_at', last_confirmed_at)
    )
  FROM changed
)
SELECT id FROM changed;
