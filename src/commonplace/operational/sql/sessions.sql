-- Sessions, and what they told: events and cooldown actions.

-- name: insert_session(agent_session_id, tier, model, trigger, prompt_text, moment)^
-- Begins a session and returns it; one that the agent's own id names already is resumed.
INSERT INTO sessions (agent_session_id, tier, model, trigger, prompt_text, status, started_at)
VALUES (:agent_session_id, :tier, :model, :trigger, :prompt_text, 'running', :moment)
ON CONFLICT (agent_session_id) DO UPDATE
SET status = 'running', model = coalesce(excluded.model, sessions.model)
RETURNING *;

-- name: finish_session(id, status, moment, response, cost_usd, num_turns, duration_ms, exit_code)^
-- Ends a session; a result that says nothing of a column leaves it as it was.
UPDATE sessions
SET status = :status, ended_at = :moment,
    response = coalesce(:response, response), cost_usd = coalesce(:cost_usd, cost_usd),
    num_turns = coalesce(:num_turns, num_turns), duration_ms = coalesce(:duration_ms, duration_ms),
    exit_code = coalesce(:exit_code, exit_code)
WHERE id = :id
RETURNING *;

-- name: get_session(id)^
-- One session, or nothing.
SELECT * FROM sessions WHERE id = :id;

-- name: list_sessions(limit, offset)
-- Sessions, newest first.
SELECT * FROM sessions ORDER BY started_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: note_marker(session_id, fingerprint)$
-- Notes that a marker of a session was taken; returns nothing where it had been already.
INSERT INTO session_markers (session_id, fingerprint) VALUES (:session_id, :fingerprint)
ON CONFLICT DO NOTHING
RETURNING session_id;

-- name: insert_event(session_id, level, service, message, moment)^
-- Records an event.
INSERT INTO events (session_id, level, service, message, created_at)
VALUES (:session_id, :level, :service, :message, :moment)
RETURNING *;

-- name: list_events(session_id, limit, offset)
-- Events of one session or of all, newest first.
SELECT * FROM events
WHERE CAST(:session_id AS INTEGER) IS NULL OR session_id = :session_id
ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: insert_cooldown(session_id, service, action, reason, tier, moment)^
-- Records a remediation that must not be repeated at once.
INSERT INTO cooldown_actions (session_id, service, action, reason, tier, created_at)
VALUES (:session_id, :service, :action, :reason, :tier, :moment)
RETURNING *;

-- name: list_cooldowns(limit, offset)
-- Cooldown actions, newest first.
SELECT * FROM cooldown_actions ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset;
