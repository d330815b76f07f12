-- name: exchanged_memories(category, service)
-- columns: id int, service str | None, category str, observation str, confidence float, active int, created_at str, updated_at str, tier int, lost float, created_as str | None, reinforced int, contradicted int, reinforced_elsewhere int, contradicted_elsewhere int, corrected_by_elsewhere str | None, corrected_by int | None, last_change int
-- All memories, or those of a category and service: with the confidence that decay took, the first text in its change,
-- how often sessions of this device and of others reinforced and contradicted each, the memory that corrected it last on
-- another device, and here since then.
SELECT m.id, m.service, m.category, m.observation, m.confidence, m.active, m.created_at, m.updated_at, m.tier,
  coalesce(d.lost, 0) AS lost, c.after AS created_as,
  (
    SELECT count(*) FROM memory_changes WHERE memory_id = m.id AND kind IN ('reinforced', 'refined')
  ) AS reinforced,
  (SELECT count(*) FROM memory_changes WHERE memory_id = m.id AND kind = 'contradicted') AS contradicted,
  coalesce(e.reinforced, 0) AS reinforced_elsewhere, coalesce(e.contradicted, 0) AS contradicted_elsewhere,
  e.corrected_by AS corrected_by_elsewhere,
  (
    SELECT related_id FROM memory_changes
    WHERE id = (
      SELECT max(id) FROM memory_changes
      WHERE memory_id = m.id AND kind = 'contradicted' AND id > coalesce(e.known_until, 0)
    )
  ) AS corrected_by,
  (SELECT coalesce(max(id), 0) FROM memory_changes WHERE memory_id = m.id) AS last_change
FROM memories m
LEFT JOIN memory_decay d ON d.memory_id = m.id AND d.counted_from = m.updated_at
LEFT JOIN memory_counts e ON e.memory_id = m.id
LEFT JOIN memory_changes c ON c.id = (
  SELECT min(id) FROM memory_changes WHERE memory_id = m.id AND kind = 'created'
)
WHERE CAST(:category AS TEXT) IS NULL OR (
  m.category = :category AND lower(m.service) IS NOT DISTINCT FROM lower(CAST(:service AS TEXT))
)
ORDER BY m.id;

-- name: put_counts(memory_id, reinforced, contradicted, corrected_by, known_until)$
-- returns: int
-- Stores how often other devices reinforced and contradicted a memory, and the name of the memory that corrected it last,
-- as of a change in its history.
INSERT INTO memory_counts (memory_id, reinforced, contradicted, corrected_by, known_until)
VALUES (:memory_id, :reinforced, :contradicted, :corrected_by, :known_until)
ON CONFLICT (memory_id) DO UPDATE SET
  reinforced = excluded.reinforced, contradicted = excluded.contradicted, corrected_by = excluded.corrected_by,
  known_until = excluded.known_until
RETURNING memory_id;

-- name: point_corrections(name, related_id)
-- columns: id int
-- Lets memories that a memory of a name corrected elsewhere name it, now that it is here.
UPDATE memory_changes SET related_id = :related_id
WHERE kind = 'contradicted' AND related_id IS NULL
  AND memory_id IN (SELECT memory_id FROM memory_counts WHERE corrected_by = :name)
RETURNING id;

-- name: set_created(memory_id, created_at)$
-- returns: int
-- Writes when a memory was first learned.
UPDATE memories SET created_at = :created_at WHERE id = :memory_id RETURNING id;
