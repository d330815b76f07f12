-- Views for operators: apps with their usage, memories by space, changes, and waiting digests.

-- name: page_of_apps(words, limit, offset)
-- columns: app_id str
-- Returns apps whose id or name contains the words, installed apps first, then by id, with their usage.
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
-- returns: int
-- Counts the apps whose id or name contains the words.
SELECT count(*) FROM apps
WHERE CAST(:words AS TEXT) IS NULL OR lower(app_id) LIKE :words ESCAPE '!' OR lower(name) LIKE :words ESCAPE '!';

-- name: energy_by_app(since)
-- columns: app_id str, units float
-- Returns the units that each app's memories took since a time.
SELECT app_id, sum(units) AS units FROM energy_ledger
WHERE created_at >= :since AND app_id IS NOT NULL GROUP BY app_id;

-- name: energy_by_hour(app_id, since)
-- columns: hour str, units float
-- Returns the units that memories of one app or all took in each hour since a time; hours without any are left out.
SELECT substr(created_at, 1, 13) AS hour, sum(units) AS units FROM energy_ledger
WHERE created_at >= :since AND operation <> 'host'
  AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id)
GROUP BY 1 ORDER BY 1;

-- name: spaces_of(app_id)
-- columns: memories int
-- Returns the spaces of an app with their numbers of memories, the common space first, then by user.
SELECT user_id, count(*) AS memories FROM app_memories WHERE app_id = :app_id
GROUP BY user_id ORDER BY user_id IS NOT NULL, user_id;

-- name: page_of_memories(app_id, common, user_id, limit, offset)
-- Returns memories of an app, newest first: of its common space, of one user's space, or of all spaces.
SELECT * FROM app_memories
WHERE app_id = :app_id
  AND (CAST(:common AS INTEGER) = 0 OR user_id IS NULL)
  AND (CAST(:user_id AS TEXT) IS NULL OR user_id = :user_id)
ORDER BY replace(updated_at, ' ', 'T') DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: shares_from(app_id)
-- columns: memory_id int, to_app_id str
-- Returns the memories of an app that are shared, with the apps that see them.
SELECT s.memory_id, s.to_app_id FROM app_memory_shares s JOIN app_memories m ON m.id = s.memory_id
WHERE m.app_id = :app_id ORDER BY s.memory_id, s.to_app_id;

-- name: changes_of_app(app_id, limit)
-- Returns the changes of an app's memories, newest first.
SELECT * FROM app_memory_changes WHERE app_id = :app_id ORDER BY created_at DESC, id DESC LIMIT :limit;

-- name: changes_of_all(since, limit)
-- columns: conversation_id str | None
-- Returns the changes of all memories since a time, newest first, with the conversation of each memory.
SELECT app_memory_changes.*, app_memories.source_conversation_id AS conversation_id
FROM app_memory_changes LEFT JOIN app_memories ON app_memories.id = app_memory_changes.memory_id
WHERE app_memory_changes.created_at >= :since
ORDER BY app_memory_changes.id DESC
LIMIT :limit;

-- name: count_changes_of_app(app_id, since)
-- columns: kind str, changes int
-- Counts the changes of an app's memories by kind since a time.
SELECT kind, count(*) AS changes FROM app_memory_changes
WHERE app_id = :app_id AND created_at >= :since GROUP BY kind;

-- name: change_stamp()^
-- returns: Row
-- Numbers that change with the memories and the open digests of all apps.
SELECT
  (SELECT max(id) FROM app_memory_changes) AS changes,
  (SELECT count(*) FROM app_digests WHERE state IN ('waiting', 'deferred', 'running')) AS digests;

-- name: count_conversations_of(app_id)^
-- returns: Row
-- columns: conversations int, in_focus int, with_memories int
-- Counts the conversations of an app, those with a context, and those with memories in the context.
SELECT count(*) AS conversations, count(memories_shown) AS in_focus,
       count(*) FILTER (WHERE memories_shown > 0) AS with_memories
FROM conversations WHERE app_id = :app_id;

-- name: page_of_open_digests(app_id, limit)
-- Returns open digests of one app or all, the longest waiting first.
SELECT * FROM app_digests
WHERE state IN ('waiting', 'deferred', 'running') AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id)
ORDER BY queued_at, app_id, conversation_id LIMIT :limit;

-- name: count_open_digests(app_id)$
-- returns: int
-- Counts the open digests of one app or all.
SELECT count(*) FROM app_digests
WHERE state IN ('waiting', 'deferred', 'running') AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id);

-- name: skipped_digests(app_id, since, limit)
-- Returns digests of one app or all that were queued since a time and failed, newest first.
SELECT * FROM app_digests
WHERE state = 'done' AND outcome = 'skipped' AND queued_at >= :since
  AND (CAST(:app_id AS TEXT) IS NULL OR app_id = :app_id)
ORDER BY updated_at DESC, app_id, conversation_id LIMIT :limit;

-- name: newest_memories(limit)
-- Returns the newest memories of all apps.
SELECT * FROM app_memories ORDER BY id DESC LIMIT :limit;

-- name: created_by_day(since)
-- columns: day str, memories int
-- Counts the memories created on each day since a time; days without any are left out.
SELECT substr(created_at, 1, 10) AS day, count(*) AS memories FROM app_memory_changes
WHERE kind = 'created' AND created_at >= :since GROUP BY 1 ORDER BY 1;
