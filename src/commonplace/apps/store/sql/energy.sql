-- The energy budget and its ledger. A transaction that changes the level holds the lock "apps:energy".

-- name: energy_level()^
-- columns: level float, as_of str
-- Returns the level and its time; returns nothing before the first operation.
SELECT level, as_of FROM energy_budget WHERE id = 1;

-- name: set_energy_level(level, moment)^
-- Writes the level.
INSERT INTO energy_budget (id, level, as_of) VALUES (1, :level, :moment)
ON CONFLICT (id) DO UPDATE SET level = excluded.level, as_of = excluded.as_of
RETURNING id;

-- name: record_energy(operation, app_id, conversation_id, units, moment)$
-- returns: int
-- Adds an operation to the ledger.
INSERT INTO energy_ledger (operation, app_id, conversation_id, units, created_at)
VALUES (:operation, :app_id, :conversation_id, :units, :moment)
RETURNING id;

-- name: energy_spent(since)
-- columns: operation str, units float
-- Returns the units of each operation since a time.
SELECT operation, count(*) AS times, sum(units) AS units FROM energy_ledger
WHERE created_at >= :since GROUP BY operation ORDER BY operation;
