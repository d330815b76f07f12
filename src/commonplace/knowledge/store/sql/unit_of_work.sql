-- name: set_context(tenant_id, actor, source)^
-- returns: Row
-- Set the tenant whose rows this transaction sees and writes, its actor, and the source of what it writes, until the
-- transaction ends.
SELECT
  set_config('commonplace.tenant_id', :tenant_id, true),
  set_config('commonplace.actor', :actor, true),
  set_config('commonplace.source', :source, true);

-- name: set_writing_context(tenant_id, actor, source)^
-- returns: Row
-- Set the context of a transaction that may write. The shared lock waits here while memories switch to another model,
-- where the transaction holds no other lock; many transactions may write at once.
SELECT
  set_config('commonplace.tenant_id', :tenant_id, true),
  set_config('commonplace.actor', :actor, true),
  set_config('commonplace.source', :source, true),
  pg_advisory_xact_lock_shared(hashtext('commonplace'), hashtext('memories'));

-- name: serialise(keys)
-- Let transactions with a common key run one after the other. The ascending order of the hashes prevents deadlocks.
SELECT pg_advisory_xact_lock(hash)
FROM (
  SELECT DISTINCT hashtextextended(current_setting('commonplace.tenant_id') || chr(31) || key, 0) AS hash
  FROM unnest(CAST(:keys AS text[])) AS key
  ORDER BY hash
) AS ordered;
