-- Statements for SQLite and PostgreSQL. FOR UPDATE is left out on SQLite, where only one transaction writes at a time.
-- Order of locks in a transaction that changes memories: first the advisory lock of a service and category, or of
-- decay; then the memories, by ascending id. A transaction reads a memory with FOR UPDATE before it writes it, so that
-- no other change comes in between.

-- name: insert_memory(service, category, observation, confidence, active, moment, session_id, tier)^
-- returns: Row
-- Adds a memory and returns it.
INSERT INTO memories (service, category, observation, confidence, active, created_at, updated_at, session_id, tier)
VALUES (:service, :category, :observation, :confidence, :active, :moment, :moment, :session_id, :tier)
RETURNING *;

-- name: get_memory(id)^
-- A memory, or nothing.
SELECT * FROM memories WHERE id = :id;

-- name: lock_memory(id)^
-- A memory, locked until the transaction ends, or nothing.
SELECT * FROM memories WHERE id = :id FOR UPDATE;

-- name: lock_candidates(service, category)
-- The active memories of a service and category, which a new observation is compared with, oldest first; locked until
-- the transaction ends.
SELECT * FROM memories
WHERE active = 1 AND category = :category
  AND lower(service) IS NOT DISTINCT FROM lower(CAST(:service AS TEXT))
ORDER BY id
FOR UPDATE;

-- name: update_memory(id, observation, confidence, active, updated_at)^
-- Writes the columns of a memory that may change, and returns the memory.
UPDATE memories
SET observation = :observation, confidence = :confidence, active = :active, updated_at = :updated_at
WHERE id = :id
RETURNING *;

-- name: delete_memory(id)^
-- Deletes a memory permanently and returns its id.
DELETE FROM memories WHERE id = :id RETURNING id;

-- name: memories_by_service(category, active, limit, offset)
-- Memories by service, general ones last. This statement and the next two read one index in its order.
SELECT * FROM memories
WHERE (CAST(:category AS TEXT) IS NULL OR category = :category)
  AND (CAST(:active AS INTEGER) IS NULL OR active = :active)
ORDER BY service IS NULL, lower(service), confidence DESC, id DESC
LIMIT :limit OFFSET :offset;

-- name: memories_by_confidence(category, active, limit, offset)
-- Memories, the most trusted first.
SELECT * FROM memories
WHERE (CAST(:category AS TEXT) IS NULL OR category = :category)
  AND (CAST(:active AS INTEGER) IS NULL OR active = :active)
ORDER BY confidence DESC, updated_at DESC, id DESC
LIMIT :limit OFFSET :offset;

-- name: memories_by_recency(category, active, limit, offset)
-- Memories, the latest update first.
SELECT * FROM memories
WHERE (CAST(:category AS TEXT) IS NULL OR category = :category)
  AND (CAST(:active AS INTEGER) IS NULL OR active = :active)
ORDER BY updated_at DESC, id DESC
LIMIT :limit OFFSET :offset;

-- name: narrowed_memories(service, general, category, active, search, sort, limit, offset)
-- Memories of one service or with a text, in one of the orders above. Few memories match, so one scan of the table is
-- three times as fast as an index in its order. Sorting the ids first is four times as fast as sorting whole rows for
-- a page deep in a long list.
SELECT memories.* FROM memories JOIN (
  SELECT id AS page_id FROM memories
  WHERE (CAST(:service AS TEXT) IS NULL OR lower(service) = lower(CAST(:service AS TEXT)))
    AND (CAST(:general AS INTEGER) = 0 OR service IS NULL)
    AND (CAST(:category AS TEXT) IS NULL OR category = :category)
    AND (CAST(:active AS INTEGER) IS NULL OR active = :active)
    AND (CAST(:search AS TEXT) IS NULL OR lower(observation) LIKE :search ESCAPE '!')
  ORDER BY
    CASE WHEN CAST(:sort AS TEXT) = 'service' AND service IS NULL THEN 1 ELSE 0 END,
    CASE WHEN CAST(:sort AS TEXT) = 'service' THEN lower(service) END,
    CASE WHEN CAST(:sort AS TEXT) IN ('service', 'confidence') THEN confidence END DESC,
    CASE WHEN CAST(:sort AS TEXT) IN ('confidence', 'recency') THEN updated_at END DESC,
    id DESC
  LIMIT :limit OFFSET :offset
) page ON page.page_id = memories.id
ORDER BY
  CASE WHEN CAST(:sort AS TEXT) = 'service' AND service IS NULL THEN 1 ELSE 0 END,
  CASE WHEN CAST(:sort AS TEXT) = 'service' THEN lower(service) END,
  CASE WHEN CAST(:sort AS TEXT) IN ('service', 'confidence') THEN confidence END DESC,
  CASE WHEN CAST(:sort AS TEXT) IN ('confidence', 'recency') THEN updated_at END DESC,
  id DESC;

-- name: count_eligible(threshold)$
-- returns: int
-- The number of memories that the block could show.
SELECT count(*) FROM memories WHERE active = 1 AND confidence >= :threshold;

-- name: eligible(threshold, max_chars, services, after_confidence, after_updated_at, after_id, limit)
-- Memories that still fit the block, after the last one that was read: most trusted first, then most recent. A
-- lower-case list such as ',a,b,' limits them to these services; 'general' stands for no service. `correction` is the text of the active memory that
-- contradicted a memory after it was last seen or edited.
SELECT m.id, m.service, m.category, m.observation, m.confidence, m.created_at, m.updated_at,
  later.observation AS correction
FROM memories m
LEFT JOIN memory_changes c ON c.id = (
  SELECT max(id) FROM memory_changes WHERE memory_id = m.id AND kind = 'contradicted'
) AND NOT EXISTS (
  SELECT 1 FROM memory_changes seen
  WHERE seen.memory_id = m.id AND seen.kind IN ('reinforced', 'refined', 'edited') AND seen.id > c.id
)
LEFT JOIN memories later ON later.id = c.related_id AND later.active = 1
WHERE m.active = 1 AND m.confidence >= :threshold AND length(m.observation) <= :max_chars
  AND (CAST(:services AS TEXT) = '' OR CAST(:services AS TEXT) LIKE '%,' || lower(coalesce(m.service, 'general')) || ',%')
  AND (m.confidence, m.updated_at, m.id) < (:after_confidence, CAST(:after_updated_at AS TEXT), :after_id)
ORDER BY m.confidence DESC, m.updated_at DESC, m.id DESC
LIMIT :limit;

-- name: lock_stale(updated_before)
-- columns: updated_at str, weeks_charged int, lost float
-- Active memories that were last updated before a time, with the weeks of decay charged since then and what they took;
-- locked until the transaction ends.
SELECT m.*,
  CASE WHEN d.counted_from = m.updated_at THEN d.weeks_charged ELSE 0 END AS weeks_charged,
  CASE WHEN d.counted_from = m.updated_at THEN d.lost ELSE 0 END AS lost
FROM memories m LEFT JOIN memory_decay d ON d.memory_id = m.id
WHERE m.active = 1 AND m.updated_at < :updated_before
ORDER BY m.id
FOR UPDATE OF m;

-- name: charge_decay(memory_id, counted_from, weeks_charged, lost)$
-- returns: int
-- Stores how many weeks of decay were charged to a memory since its last update, and the confidence that they took.
INSERT INTO memory_decay (memory_id, counted_from, weeks_charged, lost)
VALUES (:memory_id, :counted_from, :weeks_charged, CAST(:lost AS DOUBLE PRECISION))
ON CONFLICT (memory_id) DO UPDATE
SET counted_from = excluded.counted_from, weeks_charged = excluded.weeks_charged,
  lost = excluded.lost
RETURNING memory_id;

-- name: record_change(memory_id, kind, actor, session_id, before, after, reason, wording, related_id, moment)$
-- returns: int
-- Adds a change to the history of a memory.
INSERT INTO memory_changes
  (memory_id, kind, actor, session_id, before, after, reason, wording, related_id, created_at)
VALUES (:memory_id, :kind, :actor, :session_id, :before, :after, :reason, :wording, :related_id, :moment)
RETURNING id;

-- name: session_changed(memory_id, kind, other_kind, session_id)$
-- returns: int | None
-- Whether a session has made one of two kinds of change to a memory before.
SELECT 1 FROM memory_changes
WHERE memory_id = :memory_id AND kind IN (:kind, :other_kind) AND session_id = :session_id
LIMIT 1;

-- name: seen_since(memory_id, moment)$
-- returns: int | None
-- Whether a memory was seen again or edited after a time.
SELECT 1 FROM memory_changes
WHERE memory_id = :memory_id AND kind IN ('reinforced', 'refined', 'edited') AND created_at > :moment
LIMIT 1;

-- name: changes_of(memory_id)
-- The history of a memory, oldest first.
SELECT * FROM memory_changes WHERE memory_id = :memory_id ORDER BY id;

-- name: forget_texts(memory_id)
-- Clears the texts in the history of a deleted memory; the changes and their times stay.
UPDATE memory_changes SET before = NULL, after = NULL, reason = '', wording = NULL WHERE memory_id = :memory_id
RETURNING id;

-- name: newest_update()$
-- returns: str | None
-- The time of the latest change of a memory.
SELECT max(updated_at) FROM memories;
