-- Sessions, and what they told: events and cooldown actions.

-- name: insert_session(agent_session_id, tier, model, trigger, prompt_text, moment, host, pid, process_started_at)^
-- Begins a session and returns it; one that the agent's own id names already is resumed.
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
-- Gives a session that was begun before its stream what the stream says; an id that another session has stays there.
UPDATE sessions
SET model = coalesce(:model, model),
    agent_session_id = CASE
      WHEN EXISTS (SELECT 1 FROM sessions other WHERE other.agent_session_id = CAST(:agent_session_id AS TEXT))
      THEN agent_session_id ELSE CAST(:agent_session_id AS TEXT) END
WHERE id = :id
RETURNING *;

-- name: last_session(tier, trigger)^
-- The session of a tier that began last for a reason, or nothing.
SELECT * FROM sessions WHERE tier = :tier AND trigger = :trigger ORDER BY started_at DESC, id DESC LIMIT 1;

-- name: see_session(id, moment)$
-- Notes that a session is still being recorded.
UPDATE sessions SET seen_at = :moment WHERE id = :id RETURNING id;

-- name: running_sessions()
-- Sessions that should be running, oldest first; not those of which nobody knows who records them.
SELECT * FROM sessions
WHERE status = 'running' AND recorder_host IS NOT NULL AND recorder_pid IS NOT NULL
  AND recorder_started_at IS NOT NULL AND seen_at IS NOT NULL
ORDER BY id;

-- name: interrupt_session(id, seen_at)^
-- Ends a session that nobody records any more where it was last seen, unless it was seen again meanwhile.
UPDATE sessions SET status = 'interrupted', ended_at = seen_at
WHERE id = :id AND status = 'running' AND seen_at = :seen_at
RETURNING *;

-- name: finish_session(id, status, moment, response, cost_usd, num_turns, duration_ms, exit_code)^
-- Ends a session; a result that says nothing of a column leaves it as it was. What is found interrupted once more
-- ended when it was found so first.
UPDATE sessions
SET status = :status,
    ended_at = CASE WHEN CAST(:status AS TEXT) = 'interrupted' THEN coalesce(ended_at, :moment) ELSE :moment END,
    response = coalesce(:response, response), cost_usd = coalesce(:cost_usd, cost_usd),
    num_turns = coalesce(:num_turns, num_turns), duration_ms = coalesce(:duration_ms, duration_ms),
    exit_code = coalesce(:exit_code, exit_code)
WHERE id = :id
RETURNING *;

-- name: get_session(id)^
-- One session, or nothing.
SELECT * FROM sessions WHERE id = :id;

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

-- name: insert_cooldown(session_id, service, action, reason, tier, moment)^
-- Records a remediation that must not be repeated at once.
INSERT INTO cooldown_actions (session_id, service, action, reason, tier, created_at)
VALUES (:session_id, :service, :action, :reason, :tier, :moment)
RETURNING *;
