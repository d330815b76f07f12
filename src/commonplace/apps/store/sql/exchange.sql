-- name: exchanged_memories(app_id)
-- columns: id int, app_id str, user_id str | None, content str, created_at str, updated_at str, source_conversation_id str | None, metadata str | None, app_name str
-- All memories of all apps, or of one, with the name of the app.
SELECT m.*, a.name AS app_name FROM app_memories m JOIN apps a ON a.app_id = m.app_id
WHERE CAST(:app_id AS TEXT) IS NULL OR m.app_id = :app_id
ORDER BY m.id;
