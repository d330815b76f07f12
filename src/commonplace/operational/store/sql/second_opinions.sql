-- Calls of a model about doubtful pairs.

-- name: pairs_for_opinion(most_calls, limit)
-- Pairs that a model may decide, with the texts of both memories: those with the fewest calls first, of these the newest.
-- A pair whose decision was undone keeps who decided it, and waits for a person.
SELECT r.*, r.verdict AS decision, o.service, o.category, o.observation AS old_observation, n.observation AS new_observation
FROM reviews r JOIN memories o ON o.id = r.old_id JOIN memories n ON n.id = r.new_id
WHERE r.verdict IS NULL AND r.decided_by IS NULL AND o.active = 1 AND n.active = 1 AND r.undecided_calls < :most_calls
ORDER BY r.undecided_calls, r.id DESC
LIMIT :limit;

-- name: count_undecided_call(id)$
-- returns: int | None
-- Counts that a model was asked about a pair and gave no decision on it.
UPDATE reviews SET undecided_calls = undecided_calls + 1 WHERE id = :id AND verdict IS NULL RETURNING undecided_calls;

-- name: begin_opinion(model, pairs, moment)$
-- returns: int
-- Counts a call before it is made, and returns its id.
INSERT INTO second_opinions (model, pairs, asked_at) VALUES (:model, :pairs, :moment) RETURNING id;

-- name: end_opinion(id, decided, tokens, took_ms)$
-- returns: int | None
-- Writes what a call came to.
UPDATE second_opinions SET decided = :decided, tokens = :tokens, took_ms = :took_ms WHERE id = :id RETURNING id;

-- name: opinion_figures(after, before)^
-- returns: Row
-- The sums of the calls between two moments.
SELECT count(*) AS calls, coalesce(sum(pairs), 0) AS pairs, coalesce(sum(decided), 0) AS decided,
       coalesce(sum(tokens), 0) AS tokens, coalesce(sum(took_ms), 0) AS took_ms
FROM second_opinions WHERE asked_at > :after AND asked_at < :before;
