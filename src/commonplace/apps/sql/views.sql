-- What an operator looks at: apps with how they are used, memories by space, what happened, what waits.

-- name: page_of_apps(words, limit, offset)
-- Apps whose id or name holds some words, installed ones first, then by id; with how full they are and what they did.
SELECT a.*,
       (SELECT count(*) FROM app_memories m WHERE m.app_id = a.app_id) AS memories,
       (SELECT count(DISTINCT m.user_id) FROM app_memories m WHERE m.app_id = a.app_id) AS users,
       coalesce((SELECT count(*) FROM app_memories m WHERE m.app_id = a.app_id
                 GROUP BY m.user_id ORDER BY 1 DESC LIMIT 1), 0) AS fullest,
       (SELECT max(c.created_at) FROM app_memory_changes c
        WHERE c.app_id = a.app_id AND c.kind = 'created') AS last_digest_at
FROM (
  SELECT * FROM apps
  WHERE CAST(:words AS TEXT) IS NULL OR lower(app_id) LIKE :words ESCAPE '!' OR lower(name) LIKE :words ESCAPE '!'
  ORDER BY status, app_id LIMIT :limit OFFSET :offset
) AS a
ORDER BY a.status, a.app_id;

-- name: count_page_of_apps(words)$
-- How many apps those words let through.
SELECT count(*) FROM apps
WHERE CAST(:words AS TEXT) IS NULL OR lower(app_id) LIKE :words ESCAPE '!' OR lower(name) LIKE :words ESCAPE '!';

-- name: energy_by_app(since)
-- What work on the memories of each app took from a moment on.
SELECT app_id, sum(units) AS units FROM energy_ledger
WHERE created_at >= :since AND app_id IS NOT NULL GROUP BY app_id;

-- name: energy_by_hour(app_id, since)
-- What work on memories took in each hour from a moment on, of one app or all; hours without any are left out.
SELECT substr(created_at, 1, 13) AS hour, sum(units) AS units FROM energy_ledger
WHERE created_at >= :since AND operation <> 'host'
  AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id)
GROUP BY 1 ORDER BY 1;

-- name: spaces_of(app_id)
-- The spaces of an app that hold memories, the common one first, then by user; with how many each holds.
SELECT user_id, count(*) AS memories FROM app_memories WHERE app_id = :app_id
GROUP BY user_id ORDER BY user_id IS NOT NULL, user_id;

-- name: page_of_memories(app_id, common, user_id, limit, offset)
-- Memories of an app, newest first; of its common space, of one user's, or of all.
SELECT * FROM app_memories
WHERE app_id = :app_id
  AND (CAST(:common AS INTEGER) = 0 OR user_id IS NULL)
  AND (CAST(:user_id AS TEXT) IS NULL OR user_id = :user_id)
ORDER BY replace(updated_at, ' ', 'T') DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: shares_from(app_id)
-- Which memories of an app are shown to which other apps.
SELECT s.memory_id, s.to_app_id FROM app_memory_shares s JOIN app_memories m ON m.id = s.memory_id
WHERE m.app_id = :app_id ORDER BY s.memory_id, s.to_app_id;

-- name: changes_of_app(app_id, limit)
-- What happened to the memories of an app, the last first.
SELECT * FROM app_memory_changes WHERE app_id = :app_id ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: count_changes_of_app(app_id, since)
-- How often the memories of an app changed in each way from a moment on.
SELECT kind, count(*) AS changes FROM app_memory_changes
WHERE app_id = :app_id AND created_at >= :since GROUP BY kind;

-- name: count_conversations_of(app_id)^
-- Conversations of an app, those whose context was built, and those of them that were shown a memory.
SELECT count(*) AS conversations, count(memories_shown) AS in_focus,
       count(*) FILTER (WHERE memories_shown > 0) AS with_memories
FROM conversations WHERE app_id = :app_id;

-- name: page_of_open_digests(app_id, limit)
-- Digests that are not made yet, of one app or all, the longest waiting first.
SELECT * FROM app_digests
WHERE state IN ('waiting', 'deferred', 'running') AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id)
ORDER BY queued_at, app_id, conversation_id LIMIT :limit;

-- name: count_open_digests(app_id)$
-- How many of them there are.
SELECT count(*) FROM app_digests
WHERE state IN ('waiting', 'deferred', 'running') AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id);

-- name: skipped_digests(app_id, since, limit)
-- Digests that were queued from a moment on and failed, of one app or all, the last first.
SELECT * FROM app_digests
WHERE state = 'done' AND outcome = 'skipped' AND queued_at >= :since
  AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id)
ORDER BY updated_at DESC, app_id, conversation_id LIMIT :limit;

-- name: newest_memories(limit)
-- The memories that were stored last, of all apps.
SELECT * FROM app_memories ORDER BY id DESC LIMIT :limit;

-- name: created_by_day(since)
-- How many memories were made of conversations on each day from a moment on; days without any are left out.
SELECT substr(created_at, 1, 10) AS day, count(*) AS memories FROM app_memory_changes
WHERE kind = 'created' AND created_at >= :since GROUP BY 1 ORDER BY 1;
