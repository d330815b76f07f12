-- Sessions, their events and their cooldown actions.

-- name: insert_session(agent_session_id, tier, model, trigger, prompt_text, moment, host, pid, process_started_at)^
-- returns: Row
-- Begins a session and returns it; a session with the same agent session id is resumed.
INSERT INTO sessions (agent_session_id, tier, model, trigger, prompt_text, status, started_at, seen_at,
                      recorder_host, recorder_pid, recorder_started_at)
VALUES (:agent_session_id, :tier, :model, :trigger, :prompt_text, 'running', :moment, :moment,
        :host, :pid, :process_started_at)
ON CONFLICT (agent_session_id) DO UPDATE
SET status = 'running', model = coalesce(excluded.model, sessions.model), seen_at = excluded.seen_at,
    recorder_host = excluded.recorder_host, recorder_pid = excluded.recorder_pid,
    recorder_started_at = excluded.recorder_started_at
RETURNING *;

-- name: announce_session(id, agent_session_id, model)^
-- Stores the model and the agent session id of a session that began before its stream; another session keeps its id.
UPDATE sessions
SET model = coalesce(:model, model),
    agent_session_id = CASE
      WHEN EXISTS (SELECT 1 FROM sessions other WHERE other.agent_session_id = CAST(:agent_session_id AS TEXT))
      THEN agent_session_id ELSE CAST(:agent_session_id AS TEXT) END
WHERE id = :id
RETURNING *;

-- name: last_session(tier, trigger)^
-- The latest session of a tier with a trigger, or nothing.
SELECT * FROM sessions WHERE tier = :tier AND trigger = :trigger ORDER BY started_at DESC, id DESC LIMIT 1;

-- name: see_session(id, moment)$
-- returns: int | None
-- Stores that a session is still being recorded.
UPDATE sessions SET seen_at = :moment WHERE id = :id RETURNING id;

-- name: running_sessions()
-- columns: id int, recorder_host str, recorder_pid int, recorder_started_at str, seen_at str
-- Running sessions whose recording process is known, oldest first.
SELECT * FROM sessions
WHERE status = 'running' AND recorder_host IS NOT NULL AND recorder_pid IS NOT NULL
  AND recorder_started_at IS NOT NULL AND seen_at IS NOT NULL
ORDER BY id;

-- name: interrupt_session(id, seen_at)^
-- Ends a lost session at the time when it was last seen, unless it was seen again in between.
UPDATE sessions SET status = 'interrupted', ended_at = seen_at
WHERE id = :id AND status = 'running' AND seen_at = :seen_at
RETURNING *;

-- name: finish_session(id, status, moment, response, cost_usd, num_turns, duration_ms, exit_code)^
-- Ends a session. A column that the result does not fill keeps its value, and so does the end of a session that is
-- interrupted a second time.
UPDATE sessions
SET status = :status,
    ended_at = CASE WHEN CAST(:status AS TEXT) = 'interrupted' THEN coalesce(ended_at, :moment) ELSE :moment END,
    response = coalesce(:response, response), cost_usd = coalesce(:cost_usd, cost_usd),
    num_turns = coalesce(:num_turns, num_turns), duration_ms = coalesce(:duration_ms, duration_ms),
    exit_code = coalesce(:exit_code, exit_code)
WHERE id = :id
RETURNING *;

-- name: get_session(id)^
-- A session, or nothing.
SELECT * FROM sessions WHERE id = :id;

-- name: note_marker(session_id, fingerprint)$
-- returns: int | None
-- Stores that a marker of a session was processed; returns nothing if it was processed before.
INSERT INTO session_markers (session_id, fingerprint) VALUES (:session_id, :fingerprint)
ON CONFLICT DO NOTHING
RETURNING session_id;

-- name: insert_event(session_id, level, service, message, moment)$
-- returns: int
-- Stores an event and returns its id.
INSERT INTO events (session_id, level, service, message, created_at)
VALUES (:session_id, :level, :service, :message, :moment)
RETURNING id;

-- name: insert_cooldown(session_id, service, action, reason, tier, moment)$
-- returns: int
-- Stores a remediation that must not be repeated at once, and returns its id.
INSERT INTO cooldown_actions (session_id, service, action, reason, tier, created_at)
VALUES (:session_id, :service, :action, :reason, :tier, :moment)
RETURNING id;
