-- The queue of digests: one row for each ended conversation, with its outcome.

-- name: queue_digest(app_id, conversation_id, moment)^
-- Queues the digest of a conversation; returns nothing if it was queued before.
INSERT INTO app_digests (app_id, conversation_id, state, queued_at, updated_at)
VALUES (:app_id, :conversation_id, 'waiting', :moment, :moment)
ON CONFLICT (app_id, conversation_id) DO NOTHING
RETURNING *;

-- name: claim_digest(app_id, conversation_id, claim, moment, until)^
-- Claims a digest; returns nothing if it is done or claimed. A skipped digest can be claimed again.
INSERT INTO app_digests (app_id, conversation_id, state, claim, claimed_until, queued_at, updated_at)
VALUES (:app_id, :conversation_id, 'running', :claim, :until, :moment, :moment)
ON CONFLICT (app_id, conversation_id) DO UPDATE
SET state = 'running', outcome = NULL, reason = '', claim = excluded.claim,
    claimed_until = excluded.claimed_until, updated_at = excluded.updated_at
WHERE app_digests.state IN ('waiting', 'deferred')
   OR (app_digests.state = 'running' AND app_digests.claimed_until < :moment)
   OR (app_digests.state = 'done' AND app_digests.outcome = 'skipped')
RETURNING *;

-- name: settle_digest(app_id, conversation_id, claim, state, outcome, reason, request, moment)^
-- Ends the work on a claimed digest; returns nothing if the claim has expired.
UPDATE app_digests
SET state = :state, outcome = :outcome, reason = :reason, request = :request, claim = NULL, claimed_until = NULL,
    updated_at = :moment
WHERE app_id = :app_id AND conversation_id = :conversation_id AND state = 'running' AND claim = :claim
RETURNING *;

-- name: get_digest(app_id, conversation_id)^
-- columns: request str | None
-- Returns the digest of a conversation, or nothing.
SELECT * FROM app_digests WHERE app_id = :app_id AND conversation_id = :conversation_id;

-- name: open_digests(moment, limit)
-- Returns the open digests without a claim, the longest waiting first. A digest that was tried goes to the end.
SELECT * FROM app_digests
WHERE state IN ('waiting', 'deferred') OR (state = 'running' AND claimed_until < :moment)
ORDER BY updated_at, queued_at, app_id, conversation_id LIMIT :limit;

-- name: digests_in(state, limit)
-- Returns the digests in a state, or with an outcome, newest first.
SELECT * FROM app_digests WHERE state = :state OR (state = 'done' AND outcome = :state)
ORDER BY updated_at DESC, app_id, conversation_id LIMIT :limit;

-- name: drop_open_digests(app_id, reason, moment)
-- Drops every digest of an app that is not done, including running digests, and returns them.
UPDATE app_digests
SET state = 'done', outcome = 'dropped', reason = :reason, request = NULL, claim = NULL, claimed_until = NULL,
    updated_at = :moment
WHERE app_id = :app_id AND state <> 'done'
RETURNING conversation_id;

-- name: drop_open_digest(conversation_id, reason, moment)
-- Drops the digest of a conversation if it is not done, and returns it.
UPDATE app_digests
SET state = 'done', outcome = 'dropped', reason = :reason, request = NULL, claim = NULL, claimed_until = NULL,
    updated_at = :moment
WHERE conversation_id = :conversation_id AND (state <> 'done' OR outcome = 'skipped')
RETURNING conversation_id;

-- name: digests_by_state()
-- columns: state str, digests int
-- Counts the digests in each state.
SELECT state, count(*) AS digests FROM app_digests GROUP BY state ORDER BY state;
