-- name: seize_reembedding()$
-- returns: bool
-- Takes the lock of the process that moves memories, until the connection ends; false if another process holds it.
SELECT pg_try_advisory_lock(hashtext('commonplace'), hashtext('reembedding'));

-- name: reembedding_is_seized()$
-- returns: bool
-- Whether a process is moving memories now.
SELECT EXISTS (
  SELECT 1 FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = CAST(CAST(hashtext('commonplace') AS bigint) & 4294967295 AS oid)
    AND objid = CAST(CAST(hashtext('reembedding') AS bigint) & 4294967295 AS oid)
);

-- name: tables_of_others()
-- columns: relname str
-- The tables of memories whose schema this role may not change.
SELECT relname FROM pg_class
WHERE oid = ANY(CAST(ARRAY[
  'episodes', 'facts', 'rules', 'episode_passages', 'fact_passages', 'rule_passages', 'embedding_versions'
] AS regclass[]))
  AND NOT pg_has_role(relowner, 'USAGE')
ORDER BY relname;

-- name: leaves(table_name)
-- columns: relname str
-- The tables that hold the rows of a table: its partitions, or the table itself.
SELECT relname FROM pg_class
WHERE relkind = 'r' AND (
  oid = CAST(:table_name AS regclass)
  OR oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = CAST(:table_name AS regclass))
)
ORDER BY relname;

-- name: known_tenants()
-- columns: tenant_id str
-- All tenants that have stored a memory.
SELECT tenant_id FROM tenants ORDER BY tenant_id;

-- name: active_model()^
-- columns: model str, version str
-- The model whose vectors are searched; nothing if no memory was ever stored.
SELECT model, version FROM embedding_versions WHERE active;

-- name: last_reembedding()^
-- The newest move, running or not.
SELECT * FROM reembeddings ORDER BY id DESC LIMIT 1;

-- name: register_model(model, version, dimensions)!
-- Registers a model, unless it is known.
INSERT INTO embedding_versions (model, version, dimensions) VALUES (:model, :version, :dimensions)
ON CONFLICT DO NOTHING;

-- name: begin_reembedding(model, version, now)^
-- returns: Row
-- Begins a move away from the active model.
INSERT INTO reembeddings (model, version, replaces_model, replaces_version, started_at, updated_at)
SELECT CAST(:model AS text), CAST(:version AS text), active.model, active.version, :now, :now
FROM embedding_versions AS active WHERE active.active
RETURNING *;

-- name: set_reembedding_total(id, to_do, now)!
-- Sets the total to the embedded memories plus the memories still to embed.
UPDATE reembeddings SET total = done + CAST(:to_do AS bigint), updated_at = :now
WHERE id = :id AND state = 'running';

-- name: note_reembedding(id, done, step, now)^
-- columns: done int, total int
-- Adds progress to a running move and sets its step; returns nothing if the move has ended.
UPDATE reembeddings SET
  done = done + CAST(:done AS bigint), total = greatest(total, done + CAST(:done AS bigint)), step = :step,
  updated_at = :now
WHERE id = :id AND state = 'running'
RETURNING done, total;

-- name: abort_reembedding(now)!
-- Ends the running move before its switch.
UPDATE reembeddings SET state = 'aborted', ended_at = :now, updated_at = :now WHERE state = 'running';

-- name: prepare_switch()^
-- Settings of the switching transaction: it gives up on a lock before the server looks for a deadlock and ends another
-- transaction, and it always uses the index of missing vectors.
SELECT set_config('lock_timeout', '500ms', true), set_config('enable_seqscan', 'off', true);

-- name: hold_writers()^
-- Waits for all writing transactions, and keeps new ones from beginning until this one ends; searches go on. A lock on
-- the tables would meet transactions that hold other locks.
SELECT pg_advisory_xact_lock(hashtext('commonplace'), hashtext('memories'));

-- name: hold_everybody()!
-- Keeps searches out too, until the transaction ends.
LOCK TABLE episodes, facts, rules IN ACCESS EXCLUSIVE MODE;

-- name: drop_passages()!
-- Deletes the passages of all tenants, because their vectors are of the former model; they are made again afterwards.
TRUNCATE episode_passages, fact_passages, rule_passages;

-- name: activate_model(id, version, now)^
-- Ends a move as switched and deactivates the former model; returns nothing if the move had ended.
WITH ended AS (
  UPDATE reembeddings SET state = 'switched', ended_at = :now, updated_at = :now
  WHERE id = :id AND state = 'running'
  RETURNING id
),
former AS (
  UPDATE embedding_versions SET active = false
  WHERE active AND version <> :version AND EXISTS (SELECT 1 FROM ended)
  RETURNING model
)
SELECT id, (SELECT count(*) FROM former) AS formers FROM ended;

-- name: activate_next(model, version, now)!
-- Activates the new model, in a second statement because a unique index allows one active model at any moment.
UPDATE embedding_versions SET active = true, activated_at = :now
WHERE model = :model AND version = :version AND NOT EXISTS (SELECT 1 FROM embedding_versions WHERE active);

-- name: any_missed()$
-- returns: bool
-- Whether any memory of any tenant lacks a vector of the next model; works only while the policies are lifted.
SELECT
  EXISTS (SELECT 1 FROM episodes WHERE next_embedding IS NULL)
  OR EXISTS (SELECT 1 FROM facts WHERE next_embedding IS NULL)
  OR EXISTS (SELECT 1 FROM rules WHERE next_embedding IS NULL);
