-- The review queue: pairs of memories whose verdict is in doubt.

-- name: insert_review(kind, old_id, new_id, pair, reason, moment)$
-- returns: int | None
-- Adds a pair to the queue and returns its id; returns nothing if the pair was there before.
INSERT INTO reviews (kind, old_id, new_id, pair, reason, created_at)
VALUES (:kind, :old_id, :new_id, :pair, :reason, :moment)
ON CONFLICT (pair) DO NOTHING
RETURNING id;

-- name: decided_pairs(service, category)
-- columns: pair str, verdict str
-- The decided pairs of one service and category.
SELECT r.pair, r.verdict FROM reviews r JOIN memories m ON m.id = r.old_id
WHERE r.verdict IS NOT NULL AND m.category = :category
  AND lower(m.service) IS NOT DISTINCT FROM lower(CAST(:service AS TEXT));

-- name: reviews_of_status(decided, limit, offset)
-- Reviews with the texts of both memories: open ones oldest first, decided ones newest first. A pair waits only while
-- both memories are active, because a decision changes no inactive memory.
SELECT r.*, r.verdict AS decision, o.service, o.category, o.observation AS old_observation, n.observation AS new_observation
FROM reviews r JOIN memories o ON o.id = r.old_id JOIN memories n ON n.id = r.new_id
WHERE (r.verdict IS NOT NULL) = (CAST(:decided AS INTEGER) = 1)
  AND (r.verdict IS NOT NULL OR (o.active = 1 AND n.active = 1))
ORDER BY CASE WHEN CAST(:decided AS INTEGER) = 1 THEN -r.id ELSE r.id END
LIMIT :limit OFFSET :offset;

-- name: count_reviews(decided)$
-- returns: int
-- The number of pairs that were decided, or that wait.
SELECT count(*)
FROM reviews r JOIN memories o ON o.id = r.old_id JOIN memories n ON n.id = r.new_id
WHERE (r.verdict IS NOT NULL) = (CAST(:decided AS INTEGER) = 1)
  AND (r.verdict IS NOT NULL OR (o.active = 1 AND n.active = 1));

-- name: get_review(id)^
-- One review with the texts of both memories, or nothing.
SELECT r.*, r.verdict AS decision, o.service, o.category, o.observation AS old_observation, n.observation AS new_observation
FROM reviews r JOIN memories o ON o.id = r.old_id JOIN memories n ON n.id = r.new_id
WHERE r.id = :id;

-- name: decide_review(id, verdict, decided_by, explanation, before, moment)$
-- returns: int | None
-- Writes the decision and returns the id; returns nothing if the pair was decided before.
UPDATE reviews
SET verdict = :verdict, decided_by = :decided_by, explanation = :explanation, before = :before,
    decided_at = :moment
WHERE id = :id AND verdict IS NULL
RETURNING id;

-- name: reopen_review(id)$
-- returns: str | None
-- Lets a pair wait again, and returns what its memories were before the decision; who decided stays.
UPDATE reviews SET verdict = NULL, decided_at = NULL WHERE id = :id AND verdict IS NOT NULL
RETURNING before;
