-- Memories of apps. A transaction that changes which memories an app has takes the lock of the app first. Rows of
-- other programs may hold times as SQLite's CURRENT_TIMESTAMP writes them, with a space for the T.

-- name: insert_memory(app_id, user_id, content, created_at, updated_at, source_conversation_id, metadata)^
-- Adds a memory and returns it; returns nothing if the app has a memory of this conversation.
INSERT INTO app_memories (app_id, user_id, content, created_at, updated_at, source_conversation_id, metadata)
VALUES (:app_id, :user_id, :content, :created_at, :updated_at, :source_conversation_id, :metadata)
ON CONFLICT (app_id, source_conversation_id) WHERE source_conversation_id IS NOT NULL DO NOTHING
RETURNING *;

-- name: get_memory(id)^
-- columns: content str
-- Returns one memory, or nothing.
SELECT * FROM app_memories WHERE id = :id;

-- name: update_memory(id, content, updated_at, metadata)^
-- Writes the columns of a memory that a compaction changes, and returns the memory.
UPDATE app_memories SET content = :content, updated_at = :updated_at, metadata = :metadata
WHERE id = :id
RETURNING *;

-- name: delete_memory(id)^
-- Deletes a memory with its vector and its shares, and returns its id.
DELETE FROM app_memories WHERE id = :id RETURNING id;

-- name: memories_of(app_id, limit, offset)
-- Returns the memories of an app from all its spaces, newest first.
SELECT * FROM app_memories WHERE app_id = :app_id
ORDER BY replace(updated_at, ' ', 'T') DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: count_memories(app_id)$
-- returns: int
-- Counts the memories of an app in all its spaces.
SELECT count(*) FROM app_memories WHERE app_id = :app_id;

-- name: space(app_id, user_id)
-- Returns the memories of a space, oldest first.
SELECT * FROM app_memories
WHERE app_id = :app_id AND user_id IS NOT DISTINCT FROM CAST(:user_id AS TEXT)
ORDER BY replace(created_at, ' ', 'T'), id;

-- name: overfull(most)
-- columns: app_id str, user_id str | None
-- Returns the spaces that exceed the limit.
SELECT app_id, user_id FROM app_memories
GROUP BY app_id, user_id HAVING count(*) > :most
ORDER BY app_id, user_id;

-- name: visible(app_id, user_id, limit)
-- Returns the memories that a conversation can see, newest first: the app's own and those shared with it, of the
-- common spaces and of this user.
SELECT * FROM (
  SELECT m.* FROM app_memories m WHERE m.app_id = :app_id
  UNION ALL
  SELECT m.* FROM app_memory_shares s JOIN app_memories m ON m.id = s.memory_id WHERE s.to_app_id = :app_id
) AS m
WHERE m.user_id IS NULL OR m.user_id = CAST(:user_id AS TEXT)
ORDER BY replace(m.updated_at, ' ', 'T') DESC, m.id DESC LIMIT :limit;

-- name: share_memory(memory_id, to_app_id, moment)^
-- Shares a memory with another app; returns nothing if it is shared already.
INSERT INTO app_memory_shares (memory_id, to_app_id, created_at) VALUES (:memory_id, :to_app_id, :moment)
ON CONFLICT DO NOTHING
RETURNING memory_id;

-- name: unshare_memory(memory_id, to_app_id)^
-- Stops sharing a memory with another app; returns nothing if it was not shared.
DELETE FROM app_memory_shares WHERE memory_id = :memory_id AND to_app_id = :to_app_id RETURNING memory_id;

-- name: shares_of(memory_id)
-- columns: to_app_id str
-- Returns the apps that a memory is shared with.
SELECT to_app_id FROM app_memory_shares WHERE memory_id = :memory_id ORDER BY to_app_id;

-- name: put_vector(memory_id, model, vector)^
-- Stores the vector of a memory.
INSERT INTO app_memory_vectors (memory_id, model, vector) VALUES (:memory_id, :model, :vector)
ON CONFLICT (memory_id) DO UPDATE SET model = excluded.model, vector = excluded.vector
RETURNING memory_id;

-- name: vectors_of(app_id, model)
-- columns: memory_id int, vector bytes
-- Returns the vectors of one model for the memories that an app can see.
SELECT v.memory_id, v.vector FROM app_memory_vectors v JOIN app_memories m ON m.id = v.memory_id
WHERE v.model = :model AND (
  m.app_id = :app_id
  OR m.id IN (SELECT s.memory_id FROM app_memory_shares s WHERE s.to_app_id = :app_id)
);

-- name: record_change(memory_id, app_id, kind, actor, before, after, reason, moment)$
-- returns: int
-- Adds a change to the history of a memory.
INSERT INTO app_memory_changes (memory_id, app_id, kind, actor, before, after, reason, created_at)
VALUES (:memory_id, :app_id, :kind, :actor, :before, :after, :reason, :moment)
RETURNING id;

-- name: changes_of(memory_id)
-- Returns the history of a memory, oldest first.
SELECT * FROM app_memory_changes WHERE memory_id = :memory_id ORDER BY id;

-- name: forget_texts(memory_id)
-- Removes the texts of a deleted memory from its history; the kinds and times of its changes stay.
UPDATE app_memory_changes SET before = NULL, after = NULL, reason = '' WHERE memory_id = :memory_id RETURNING id;

-- name: forget_texts_of_app(app_id)
-- Removes the texts of all memories of an app, also deleted ones, from their history.
UPDATE app_memory_changes SET before = NULL, after = NULL, reason = '' WHERE app_id = :app_id RETURNING id;
