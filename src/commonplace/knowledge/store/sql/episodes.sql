-- name: insert_episodes(id, butler, session_id, content, search_text, embedding, importance, metadata, created_at, expires_at, source, flags, model, version)
-- Insert episodes in their order, the model of their vectors, and an event for each episode.
WITH input AS (
  SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:butler AS text[]), CAST(:session_id AS uuid[]), CAST(:content AS text[]),
    CAST(:search_text AS text[]), CAST(:embedding AS vector[]), CAST(:importance AS float8[]),
    CAST(:metadata AS text[]), CAST(:created_at AS timestamptz[]), CAST(:expires_at AS timestamptz[]),
    CAST(:source AS text[]), CAST(:flags AS text[])
  ) WITH ORDINALITY AS given (
    id, butler, session_id, content, search_text, embedding, importance, metadata, created_at, expires_at, source,
    flags, place
  )
),
${known_model},
stored AS (
  INSERT INTO episodes (
    tenant_id, id, butler, session_id, content, search_vector, embedding, embedding_model, embedding_version,
    importance, metadata, created_at, expires_at, source, trust, flags
  )
  SELECT
    current_setting('commonplace.tenant_id'), id, butler, session_id, content,
    commonplace_search_vector(search_text), embedding, :model, :version,
    importance, CAST(metadata AS jsonb), created_at, expires_at,
    commonplace_weaker(commonplace_source(), source), commonplace_weaker(commonplace_source(), source),
    CAST(flags AS jsonb)
  FROM input
  ORDER BY place
  RETURNING id, butler, session_id, importance, consolidation_status, expires_at, source, flags
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'), 'episode_created',
  jsonb_build_object(
    'memory_type', 'episode', 'memory_id', id, 'before', NULL,
    'after', to_jsonb(stored) - 'id'
  )
FROM stored;

-- name: forget_episode(id, now)$
-- returns: UUID | None
-- Expire an episode now and write the event, unless it has expired. Return the id of an episode that exists.
WITH known AS (
  SELECT id, expires_at FROM episodes WHERE id = :id FOR UPDATE
),
changed AS (
  UPDATE episodes SET expires_at = :now FROM known
  WHERE episodes.id = known.id AND (known.expires_at IS NULL OR known.expires_at > :now)
  RETURNING episodes.id, known.expires_at AS expired_before, episodes.expires_at
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_forgotten',
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id, 'before', jsonb_build_object('expires_at', expired_before),
      'after', jsonb_build_object('expires_at', expires_at)
    )
  FROM changed
)
SELECT id FROM known;

-- name: restore_episode(id, now)$
-- returns: UUID | None
-- Give a forgotten episode its former end and write the event, unless that end has passed. Return the id of an episode
-- that changed.
WITH forgetting AS (
  SELECT
    CAST(payload #>> '{before,expires_at}' AS timestamptz) AS ends_at,
    CAST(payload #>> '{after,expires_at}' AS timestamptz) AS forgotten_at
  FROM memory_events
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND about_id = CAST(CAST(:id AS uuid) AS text)
    AND event_type = 'episode_forgotten'
  ORDER BY created_at DESC
  LIMIT 1
),
changed AS (
  UPDATE episodes SET expires_at = forgetting.ends_at FROM forgetting
  WHERE id = :id AND episodes.expires_at = forgetting.forgotten_at
    AND (forgetting.ends_at IS NULL OR forgetting.ends_at > :now)
  RETURNING id, episodes.expires_at, forgetting.forgotten_at
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'episode_restored',
    jsonb_build_object(
      'memory_type', 'episode', 'memory_id', id, 'before', jsonb_build_object('expires_at', forgotten_at),
      'after', jsonb_build_object('expires_at', expires_at)
    )
  FROM changed
)
SELECT id FROM changed;
