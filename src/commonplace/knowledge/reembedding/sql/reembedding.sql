-- name: seize_reembedding()$
-- Takes the lock of whoever moves memories to another model, for as long as the connection lasts; false where another
-- has it.
SELECT pg_try_advisory_lock(hashtext('commonplace'), hashtext('reembedding'));

-- name: reembedding_is_seized()$
-- Whether somebody is moving memories at this moment.
SELECT EXISTS (
  SELECT 1 FROM pg_locks
  WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid = CAST(CAST(hashtext('commonplace') AS bigint) & 4294967295 AS oid)
    AND objid = CAST(CAST(hashtext('reembedding') AS bigint) & 4294967295 AS oid)
);

-- name: tables_of_others()
-- Which tables of memories this role may not change the schema of.
SELECT relname FROM pg_class
WHERE oid = ANY(CAST(ARRAY['episodes', 'facts', 'rules', 'embedding_versions'] AS regclass[]))
  AND NOT pg_has_role(relowner, 'USAGE')
ORDER BY relname;

-- name: known_tenants()
-- Every tenant that ever stored a memory.
SELECT tenant_id FROM tenants ORDER BY tenant_id;

-- name: active_model()^
-- The model whose vectors are searched; nothing where none was ever stored.
SELECT model, version FROM embedding_versions WHERE active;

-- name: last_reembedding()^
-- The newest move, under way or not.
SELECT
  id, model, version, replaces_model, replaces_version, state, step, done, total, started_at, updated_at, ended_at
FROM reembeddings ORDER BY id DESC LIMIT 1;

-- name: register_model(model, version, dimensions)!
-- Names a model, unless it is known.
INSERT INTO embedding_versions (model, version, dimensions) VALUES (:model, :version, :dimensions)
ON CONFLICT DO NOTHING;

-- name: begin_reembedding(model, version, now)^
-- Begins a move away from the active model.
INSERT INTO reembeddings (model, version, replaces_model, replaces_version, started_at, updated_at)
SELECT CAST(:model AS text), CAST(:version AS text), active.model, active.version, :now, :now
FROM embedding_versions AS active WHERE active.active
RETURNING
  id, model, version, replaces_model, replaces_version, state, step, done, total, started_at, updated_at, ended_at;

-- name: set_reembedding_total(id, to_do, now)^
-- Notes how much there is to do beside what is done.
UPDATE reembeddings SET total = done + CAST(:to_do AS bigint), updated_at = :now
WHERE id = :id AND state = 'running'
RETURNING done, total;

-- name: note_reembedding(id, done, step, now)^
-- Notes what was done since, and the step that it was; nothing comes back of a move that was ended meanwhile.
UPDATE reembeddings SET
  done = done + CAST(:done AS bigint), total = greatest(total, done + CAST(:done AS bigint)), step = :step,
  updated_at = :now
WHERE id = :id AND state = 'running'
RETURNING done, total;

-- name: abort_reembedding(now)^
-- Ends the move that is under way, before its switch.
UPDATE reembeddings SET state = 'aborted', ended_at = :now, updated_at = :now WHERE state = 'running'
RETURNING
  id, model, version, replaces_model, replaces_version, state, step, done, total, started_at, updated_at, ended_at;

-- name: prepare_switch()^
-- Settings of the transaction that switches: it gives up on a lock before the server would look for a deadlock and end
-- somebody else's transaction, and trusts the index of what is missing, whatever the planner believes.
SELECT set_config('lock_timeout', '500ms', true), set_config('enable_seqscan', 'off', true);

-- name: hold_writers()^
-- Waits for every transaction that may write, and lets none begin until this one ends; searches go on. A lock on the
-- tables would meet transactions in the middle, which hold other locks.
SELECT pg_advisory_xact_lock(hashtext('commonplace'), hashtext('memories'));

-- name: hold_everybody()!
-- Lets nobody search either, until the transaction ends.
LOCK TABLE episodes, facts, rules IN ACCESS EXCLUSIVE MODE;

-- name: activate_model(id, version, now)^
-- Makes the model of a move the one that is compared, and ends the move; nothing comes back where it was ended.
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
-- The second half: an index allows one active model, and looks at each row as it is written.
UPDATE embedding_versions SET active = true, activated_at = :now
WHERE model = :model AND version = :version AND NOT EXISTS (SELECT 1 FROM embedding_versions WHERE active);

-- name: any_missed()$
-- Whether any memory of any tenant lacks a vector of the next model; to be asked while the policies are lifted.
SELECT
  EXISTS (SELECT 1 FROM episodes WHERE next_embedding IS NULL)
  OR EXISTS (SELECT 1 FROM facts WHERE next_embedding IS NULL)
  OR EXISTS (SELECT 1 FROM rules WHERE next_embedding IS NULL);
