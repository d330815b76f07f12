-- Memories of apps. A transaction that changes which memories an app has takes the lock of the app first. Rows of
-- other programs may hold times as SQLite's CURRENT_TIMESTAMP writes them, with a space for the T.

-- name: insert_memory(app_id, user_id, content, created_at, updated_at, source_conversation_id, metadata)^
-- Adds a memory and returns it; returns nothing where the app has one of this conversation.
INSERT INTO app_memories (app_id, user_id, content, created_at, updated_at, source_conversation_id, metadata)
VALUES (:app_id, :user_id, :content, :created_at, :updated_at, :source_conversation_id, :metadata)
ON CONFLICT (app_id, source_conversation_id) WHERE source_conversation_id IS NOT NULL DO NOTHING
RETURNING *;

-- name: get_memory(id)^
-- One memory, or nothing.
SELECT * FROM app_memories WHERE id = :id;

-- name: update_memory(id, content, updated_at, metadata)^
-- Writes what a compaction may change of a memory, and returns it.
UPDATE app_memories SET content = :content, updated_at = :updated_at, metadata = :metadata
WHERE id = :id
RETURNING *;

-- name: delete_memory(id)^
-- Removes a memory with its vector and its shares, and returns its id.
DELETE FROM app_memories WHERE id = :id RETURNING id;

-- name: memories_of(app_id, limit, offset)
-- The memories of an app, of all its spaces, newest first.
SELECT * FROM app_memories WHERE app_id = :app_id
ORDER BY replace(updated_at, ' ', 'T') DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: count_memories(app_id)$
-- How many memories an app has, in all its spaces.
SELECT count(*) FROM app_memories WHERE app_id = :app_id;

-- name: space(app_id, user_id)
-- The memories that count together towards the limit, first in first.
SELECT * FROM app_memories
WHERE app_id = :app_id AND user_id IS NOT DISTINCT FROM CAST(:user_id AS TEXT)
ORDER BY replace(created_at, ' ', 'T'), id;

-- name: overfull(most)
-- The spaces that hold more memories than they may.
SELECT app_id, user_id FROM app_memories
GROUP BY app_id, user_id HAVING count(*) > :most
ORDER BY app_id, user_id;

-- name: visible(app_id, user_id, limit)
-- What a conversation of an app may be shown, newest first: the app's own memories and those shared with it, of no
-- user or of this one.
SELECT * FROM (
  SELECT m.* FROM app_memories m WHERE m.app_id = :app_id
  UNION ALL
  SELECT m.* FROM app_memory_shares s JOIN app_memories m ON m.id = s.memory_id WHERE s.to_app_id = :app_id
) AS m
WHERE m.user_id IS NULL OR m.user_id = CAST(:user_id AS TEXT)
ORDER BY replace(m.updated_at, ' ', 'T') DESC, m.id DESC LIMIT :limit;

-- name: share_memory(memory_id, to_app_id, moment)^
-- Shows a memory to another app; returns nothing where it is shown already.
INSERT INTO app_memory_shares (memory_id, to_app_id, created_at) VALUES (:memory_id, :to_app_id, :moment)
ON CONFLICT DO NOTHING
RETURNING memory_id;

-- name: unshare_memory(memory_id, to_app_id)^
-- Takes a memory away from another app again; returns nothing where it was not shown.
DELETE FROM app_memory_shares WHERE memory_id = :memory_id AND to_app_id = :to_app_id RETURNING memory_id;

-- name: shares_of(memory_id)
-- The apps that a memory is shown to.
SELECT to_app_id FROM app_memory_shares WHERE memory_id = :memory_id ORDER BY to_app_id;

-- name: put_vector(memory_id, model, vector)^
-- Keeps the vector of a memory.
INSERT INTO app_memory_vectors (memory_id, model, vector) VALUES (:memory_id, :model, :vector)
ON CONFLICT (memory_id) DO UPDATE SET model = excluded.model, vector = excluded.vector
RETURNING memory_id;

-- name: vectors_of(app_id, model)
-- The vectors of one model, of what an app may be shown.
SELECT v.memory_id, v.vector FROM app_memory_vectors v JOIN app_memories m ON m.id = v.memory_id
WHERE v.model = :model AND (
  m.app_id = :app_id
  OR m.id IN (SELECT s.memory_id FROM app_memory_shares s WHERE s.to_app_id = :app_id)
);

-- name: record_change(memory_id, app_id, kind, actor, before, after, reason, moment)$
-- Adds to the history of a memory.
INSERT INTO app_memory_changes (memory_id, app_id, kind, actor, before, after, reason, created_at)
VALUES (:memory_id, :app_id, :kind, :actor, :before, :after, :reason, :moment)
RETURNING id;

-- name: changes_of(memory_id)
-- The history of a memory, oldest first.
SELECT * FROM app_memory_changes WHERE memory_id = :memory_id ORDER BY id;

-- name: forget_texts(memory_id)
-- Takes what a deleted memory said out of its history; that it was there, and when, stays.
UPDATE app_memory_changes SET before = NULL, after = NULL, reason = '' WHERE memory_id = :memory_id RETURNING id;

-- name: forget_texts_of_app(app_id)
-- The same for every memory that an app ever had.
UPDATE app_memory_changes SET before = NULL, after = NULL, reason = '' WHERE app_id = :app_id RETURNING id;
