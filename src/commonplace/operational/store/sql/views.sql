-- Pages for an operator. A filter that is NULL matches everything; lists are newest first.

-- name: count_memories(service, general, category, search)
-- columns: active int, count int
-- The number of active and inactive memories that match a filter.
SELECT active, count(*) AS count FROM memories
WHERE (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:general AS INTEGER) = 0 OR service IS NULL)
  AND (CAST(:category AS TEXT) IS NULL OR category = :category)
  AND (CAST(:search AS TEXT) IS NULL OR lower(observation) LIKE :search ESCAPE '!')
GROUP BY active;

-- name: services_of_memories()
-- columns: service str | None, count int
-- Every spelling of a service, with the number of its memories.
SELECT service, count(*) AS count FROM memories GROUP BY service;

-- name: recent_memories(limit)
-- The latest memories.
SELECT * FROM memories ORDER BY id DESC LIMIT :limit;

-- name: fading_memories(updated_before, limit)
-- Active memories that were last updated before a time, the weakest first, then the oldest.
SELECT * FROM memories WHERE active = 1 AND updated_at < :updated_before
ORDER BY confidence, updated_at, id LIMIT :limit;

-- name: memories_of_session(session_id, limit)
-- The memories that a session created, oldest first.
SELECT * FROM memories WHERE session_id = :session_id ORDER BY id LIMIT :limit;

-- name: changes_of_session(session_id, since, limit)
-- What a session did to memories that it did not create, oldest first, with the text and service that each has now.
SELECT c.*, m.service, m.observation FROM memory_changes c JOIN memories m ON m.id = c.memory_id
WHERE c.created_at >= :since AND c.session_id = :session_id AND c.kind <> 'created' ORDER BY c.id LIMIT :limit;

-- name: page_of_sessions(status, tier, limit, offset)
-- Sessions by status and tier.
SELECT * FROM sessions
WHERE (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:tier AS INTEGER) IS NULL OR tier = :tier)
ORDER BY started_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: count_sessions(status, tier)$
-- returns: int
-- Their number.
SELECT count(*) FROM sessions
WHERE (CAST(:status AS TEXT) IS NULL OR status = :status)
  AND (CAST(:tier AS INTEGER) IS NULL OR tier = :tier);

-- name: page_of_events(service, session_id, limit, offset)
-- Events by service and session.
SELECT * FROM events
WHERE (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id)
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: count_events(service, session_id)$
-- returns: int
-- Their number.
SELECT count(*) FROM events
WHERE (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id);

-- name: page_of_events_of_level(level, service, session_id, limit, offset)
-- Events of one level, in the order of an index: critical events are few.
SELECT * FROM events
WHERE level = :level
  AND (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id)
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: count_events_of_level(level, service, session_id)$
-- returns: int
-- Their number.
SELECT count(*) FROM events
WHERE level = :level
  AND (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id);

-- name: page_of_cooldowns(service, session_id, limit, offset)
-- Cooldown actions by service and session.
SELECT * FROM cooldown_actions
WHERE (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id)
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: count_cooldowns(service, session_id)$
-- returns: int
-- Their number.
SELECT count(*) FROM cooldown_actions
WHERE (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
  AND (CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id);

-- name: figures(week_ago, updated_before)^
-- returns: Row
-- The counts of an overview.
SELECT
  (SELECT count(*) FROM memories WHERE active = 1) AS active,
  (SELECT count(*) FROM memories WHERE active = 0) AS inactive,
  (SELECT count(*) FROM memories WHERE created_at >= :week_ago) AS learned_in_week,
  (SELECT count(*) FROM memories WHERE active = 1 AND updated_at < :updated_before) AS fading,
  (SELECT count(*) FROM sessions WHERE started_at >= :week_ago) AS sessions_in_week,
  (SELECT count(*) FROM sessions WHERE started_at >= :week_ago AND status IN ('failed', 'interrupted')) AS failed_in_week,
  (SELECT count(*) FROM sessions WHERE status = 'running') AS running,
  (SELECT count(*) FROM events WHERE created_at >= :week_ago AND level = 'critical') AS critical_in_week,
  (SELECT coalesce(sum(cost_usd), 0.0) FROM sessions WHERE started_at >= :week_ago) AS cost_in_week_usd;

-- name: change_stamp()^
-- returns: Row
-- Numbers that change with the memories, sessions and events.
SELECT
  (SELECT max(id) FROM memory_changes) AS changes,
  (SELECT max(id) FROM sessions) AS sessions,
  (SELECT count(*) FROM sessions WHERE status = 'running') AS running,
  (SELECT max(id) FROM events) AS events;

-- name: learned_by_day(since)
-- columns: day str, memories int
-- The number of memories by day of creation since a time, without days that have none.
SELECT substr(created_at, 1, 10) AS day, count(*) AS memories FROM memories
WHERE created_at >= :since GROUP BY 1 ORDER BY 1;

-- name: changes_since(since, limit)
-- The changes of all memories since a time, newest first, with the text and service that each memory has now.
SELECT c.*, m.service, m.observation FROM memory_changes c LEFT JOIN memories m ON m.id = c.memory_id
WHERE c.created_at >= :since ORDER BY c.id DESC LIMIT :limit;
