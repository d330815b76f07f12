-- Apps, conversations and messages; for SQLite and PostgreSQL alike.

-- name: register_app(app_id, name, moment)^
-- returns: Row
-- Adds an app and returns it; an existing app is installed again, with the new name if one is given.
INSERT INTO apps (app_id, name, status, installed_at)
VALUES (:app_id, coalesce(CAST(:name AS TEXT), :app_id), 'installed', :moment)
ON CONFLICT (app_id) DO UPDATE
SET name = coalesce(CAST(:name AS TEXT), apps.name), status = 'installed', uninstalled_at = NULL,
    installed_at = CASE WHEN apps.status = 'installed' THEN apps.installed_at ELSE excluded.installed_at END
RETURNING *;

-- name: get_app(app_id)^
-- Returns one app, or nothing.
SELECT * FROM apps WHERE app_id = :app_id;

-- name: mark_uninstalled(app_id, moment)^
-- Marks an app as uninstalled and returns it; a second call keeps the first time.
UPDATE apps SET status = 'uninstalled', uninstalled_at = coalesce(uninstalled_at, :moment)
WHERE app_id = :app_id
RETURNING *;

-- name: delete_app(app_id)^
-- Deletes an app with its conversations and memories, and returns its id.
DELETE FROM apps WHERE app_id = :app_id RETURNING app_id;

-- name: list_apps(status, limit, offset)
-- columns: memories int
-- Returns apps of one status or all, by id, with their numbers of memories.
SELECT a.*, (SELECT count(*) FROM app_memories m WHERE m.app_id = a.app_id) AS memories
FROM apps a
WHERE CAST(:status AS TEXT) IS NULL OR a.status = :status
ORDER BY a.app_id LIMIT :limit OFFSET :offset;

-- name: count_listed_apps(status)$
-- returns: int
-- Counts the apps of one status or all.
SELECT count(*) FROM apps a WHERE CAST(:status AS TEXT) IS NULL OR a.status = :status;

-- name: insert_conversation(conversation_id, app_id, user_id, moment)^
-- Begins a conversation and returns it; returns nothing if the id is taken.
INSERT INTO conversations (conversation_id, app_id, user_id, started_at)
VALUES (:conversation_id, :app_id, :user_id, :moment)
ON CONFLICT (conversation_id) DO NOTHING
RETURNING *;

-- name: get_conversation(conversation_id)^
-- Returns one conversation, or nothing.
SELECT * FROM conversations WHERE conversation_id = :conversation_id;

-- name: insert_message(conversation_id, role, content, moment)^
-- Adds a message and returns it.
INSERT INTO messages (conversation_id, role, content, created_at)
VALUES (:conversation_id, :role, :content, :moment)
RETURNING *;

-- name: note_messages(conversation_id, role, moment, added)^
-- Stores who spoke last in an active conversation; returns nothing if the conversation has ended.
UPDATE conversations
SET last_role = :role, last_message_at = :moment, message_count = message_count + :added
WHERE conversation_id = :conversation_id AND status = 'active'
RETURNING *;

-- name: messages_of(conversation_id)
-- Returns the messages of a conversation in order.
SELECT * FROM messages WHERE conversation_id = :conversation_id ORDER BY id;

-- name: end_conversation(conversation_id, reason, moment)^
-- Ends a conversation and returns it; returns nothing if it had ended before.
UPDATE conversations SET status = 'ended', end_reason = :reason, ended_at = :moment
WHERE conversation_id = :conversation_id AND status = 'active'
RETURNING *;

-- name: note_memories_shown(conversation_id, shown)^
-- Stores the greatest number of memories that the model of a conversation saw.
UPDATE conversations SET memories_shown = :shown
WHERE conversation_id = :conversation_id AND (memories_shown IS NULL OR memories_shown < :shown)
RETURNING conversation_id;

-- name: delete_conversation(conversation_id)^
-- Deletes a conversation with its messages, and returns its id.
DELETE FROM conversations WHERE conversation_id = :conversation_id RETURNING conversation_id;

-- name: delete_ended_conversations(app_id)
-- Deletes the ended conversations of an app with their messages, and returns their ids.
DELETE FROM conversations WHERE app_id = :app_id AND status = 'ended' RETURNING conversation_id;

-- name: unanswered(app_id, limit)
-- Returns active conversations of installed apps whose last message is the user's, the longest waiting first.
SELECT c.* FROM conversations c JOIN apps a ON a.app_id = c.app_id
WHERE c.status = 'active' AND c.last_role = 'user' AND a.status = 'installed'
  AND (CAST(:app_id AS TEXT) IS NULL OR c.app_id = :app_id)
ORDER BY c.last_message_at, c.conversation_id LIMIT :limit;

-- name: completed(app_id, user_id, limit)
-- Returns ended conversations of an app, or of one of its users, the last ended first.
SELECT * FROM conversations
WHERE app_id = :app_id AND status = 'ended' AND message_count > 0
  AND (CAST(:user_id AS TEXT) IS NULL OR user_id = :user_id)
ORDER BY ended_at DESC, conversation_id DESC LIMIT :limit;

-- name: conversation_chars(conversation_id)$
-- returns: int
-- Counts the characters of a conversation; 0 for an unknown conversation.
SELECT coalesce(sum(length(content)), 0) FROM messages WHERE conversation_id = :conversation_id;
