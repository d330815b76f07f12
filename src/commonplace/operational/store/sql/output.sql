-- Output lines of sessions.

-- name: insert_output(session_id, kind, text, fingerprint, moment)$
-- returns: int | None
-- Adds a line to a session and returns its number, or nothing if the line exists.
INSERT INTO session_output (session_id, seq, kind, text, fingerprint, created_at)
SELECT :session_id, coalesce(max(seq), 0) + 1, :kind, :text, :fingerprint, :moment
FROM session_output WHERE session_id = :session_id
ON CONFLICT DO NOTHING
RETURNING seq;

-- name: list_output(session_id, after, limit)
-- Lines of a session after a number, oldest first.
SELECT seq, kind, text, created_at AS at FROM session_output
WHERE session_id = :session_id AND seq > :after
ORDER BY seq LIMIT :limit;

-- name: place_in_output(session_id, pattern)$
-- returns: int | None
-- The number of the first line of an agent's text that matches a pattern, or nothing.
SELECT min(seq) FROM session_output WHERE session_id = :session_id AND kind = 'text' AND text LIKE :pattern ESCAPE '!';

-- name: trim_output(session_id, up_to)$
-- returns: int | None
-- Deletes the oldest lines of a session.
DELETE FROM session_output WHERE session_id = :session_id AND seq <= :up_to RETURNING seq;

-- name: forget_output(up_to_session)$
-- returns: int | None
-- Deletes the lines of older sessions.
DELETE FROM session_output WHERE session_id <= :up_to_session RETURNING session_id;
