-- Figures for the statistics.

-- name: count_apps()^
-- returns: Row
-- columns: apps int, with_memories int
-- Counts the apps that are installed or hold memories, and those that hold memories.
SELECT count(*) AS apps,
       count(*) FILTER (WHERE EXISTS (SELECT 1 FROM app_memories m WHERE m.app_id = a.app_id)) AS with_memories
FROM apps a;

-- name: count_contents()^
-- returns: Row
-- columns: memories int, characters int
-- Counts the memories of all apps and their characters.
SELECT count(*) AS memories, coalesce(sum(length(content)), 0) AS characters FROM app_memories;

-- name: count_conversations()^
-- returns: Row
-- columns: conversations int, in_focus int, with_memories int
-- Counts the conversations, those with a context, and those with memories in the context.
SELECT count(*) AS conversations, count(memories_shown) AS in_focus,
       count(*) FILTER (WHERE memories_shown > 0) AS with_memories
FROM conversations;

-- name: changes_since(since)
-- columns: app_id str, kind str, changes int
-- Counts the changes of each app's memories by kind since a time.
SELECT app_id, kind, count(*) AS changes FROM app_memory_changes
WHERE created_at >= :since GROUP BY app_id, kind ORDER BY app_id, kind;

-- name: memories_per_app(limit)
-- columns: app_id str, memories int
-- Returns the apps with the most memories.
SELECT app_id, count(*) AS memories FROM app_memories GROUP BY app_id ORDER BY memories DESC, app_id LIMIT :limit;
