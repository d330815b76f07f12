-- Pairs of facts that wait for a person: a new fact, of a run or stored, and the old fact that it superseded and that
-- matters.

-- name: decided_apart(places, scopes, subjects, predicates, contents)
-- columns: place str
-- Of some new facts, those that a person decided to keep beside the active fact with their key.
SELECT given.place
FROM unnest(
  CAST(:places AS text[]), CAST(:scopes AS text[]), CAST(:subjects AS text[]), CAST(:predicates AS text[]),
  CAST(:contents AS text[])
) AS given (place, scope, subject, predicate, content)
JOIN facts AS old ON old.tenant_id = current_setting('commonplace.tenant_id') AND old.validity = 'active'
  AND old.entity_id IS NULL AND old.scope = given.scope AND old.subject = given.subject
  AND old.predicate = given.predicate
JOIN fact_reviews AS review ON review.tenant_id = old.tenant_id AND review.decision IN ('refines', 'distinct')
  AND review.pair = commonplace_fact_pair(given.subject, given.predicate, old.content, given.content);

-- name: list_fact_reviews(decided, limit)
-- Pairs that wait, the oldest first, or decided pairs, the latest first. A pair waits while its new fact is active.
${fact_reviews}
WHERE review.tenant_id = current_setting('commonplace.tenant_id') AND (review.decision IS NOT NULL) = :decided
  AND (:decided OR (new.validity = 'active' AND old.validity = 'superseded'))
ORDER BY review.decided_at DESC, review.id
LIMIT :limit;

-- name: get_fact_review(id)^
-- One pair, locked until the transaction ends.
${fact_reviews}
WHERE review.tenant_id = current_setting('commonplace.tenant_id') AND review.id = :id
FOR UPDATE OF review;

-- name: set_decision(id, decision, now)!
-- Writes a decision about a pair, or with NULL takes it back, and writes the event.
WITH changed AS (
  UPDATE fact_reviews SET
    decision = CAST(:decision AS text),
    decided_by = CASE WHEN CAST(:decision AS text) IS NULL THEN NULL
      ELSE nullif(current_setting('commonplace.actor', true), '') END,
    decided_at = CASE WHEN CAST(:decision AS text) IS NULL THEN NULL ELSE CAST(:now AS timestamptz) END
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id
  RETURNING id, old_id, new_id, decision
)
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT
  current_setting('commonplace.tenant_id'),
  CASE WHEN decision IS NULL THEN 'review_reopened' ELSE 'review_decided' END,
  jsonb_build_object(
    'memory_type', 'fact', 'memory_id', new_id, 'before', NULL,
    'after', jsonb_build_object('review', id, 'decision', decision, 'other', old_id)
  )
FROM changed;

-- name: set_predicate(id, predicate)!
-- Changes the predicate of an active fact.
UPDATE facts SET predicate = :predicate
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id AND validity = 'active';

-- name: stand_beside(id, predicate, old_id)!
-- Gives a fact a predicate of its own, and removes the link to the fact that it superseded.
WITH unlinked AS (
  DELETE FROM memory_links
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND source_type = 'fact' AND source_id = :id
    AND target_type = 'fact' AND target_id = :old_id AND relation = 'supersedes'
)
UPDATE facts SET predicate = :predicate, supersedes_id = nullif(supersedes_id, CAST(:old_id AS uuid))
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: reactivate_fact(id)$
-- returns: UUID | None
-- Makes a superseded fact active again and writes the event. Returns its id, or nothing.
WITH changed AS (
  UPDATE facts SET validity = 'active'
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id AND validity = 'superseded'
  RETURNING id
),
event AS (
  INSERT INTO memory_events (tenant_id, event_type, payload)
  SELECT
    current_setting('commonplace.tenant_id'), 'fact_restored',
    jsonb_build_object(
      'memory_type', 'fact', 'memory_id', id, 'before', jsonb_build_object('validity', 'superseded'),
      'after', jsonb_build_object('validity', 'active')
    )
  FROM changed
)
SELECT id FROM changed;
