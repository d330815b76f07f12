-- Figures for the statistics; none of them is read on the way to an answer.

-- name: count_apps()^
-- Apps that are installed or hold memories, and how many of them hold any.
SELECT count(*) AS apps,
       count(*) FILTER (WHERE EXISTS (SELECT 1 FROM app_memories m WHERE m.app_id = a.app_id)) AS with_memories
FROM apps a;

-- name: count_contents()^
-- Memories and their characters, in all apps.
SELECT count(*) AS memories, coalesce(sum(length(content)), 0) AS characters FROM app_memories;

-- name: count_conversations()^
-- Conversations, those whose context was built, and those of them that were shown a memory.
SELECT count(*) AS conversations, count(memories_shown) AS in_focus,
       count(*) FILTER (WHERE memories_shown > 0) AS with_memories
FROM conversations;

-- name: changes_since(since)
-- How often each app's memories changed in each way from a moment on.
SELECT app_id, kind, count(*) AS changes FROM app_memory_changes
WHERE created_at >= :since GROUP BY app_id, kind ORDER BY app_id, kind;

-- name: memories_per_app(limit)
-- The apps with the most memories.
SELECT app_id, count(*) AS memories FROM app_memories GROUP BY app_id ORDER BY memories DESC, app_id LIMIT :limit;
