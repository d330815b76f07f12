-- name: set_context(tenant_id, actor)^
-- Says whose rows this transaction sees and writes, and who is behind it; both end with the transaction.
SELECT
  set_config('commonplace.tenant_id', :tenant_id, true),
  set_config('commonplace.actor', :actor, true);

-- name: set_writing_context(tenant_id, actor)^
-- As set_context, of a transaction that may write. While memories are switched to another model it waits here, where it
-- holds nothing that the switch could wait for; many may write at once.
SELECT
  set_config('commonplace.tenant_id', :tenant_id, true),
  set_config('commonplace.actor', :actor, true),
  pg_advisory_xact_lock_shared(hashtext('commonplace'), hashtext('memories'));

-- name: serialise(keys)
-- Lets transactions with a common key run one after the other. Keys are taken in ascending order of their
-- hashes, so that two transactions never wait for each other.
SELECT pg_advisory_xact_lock(hash)
FROM (
  SELECT DISTINCT hashtextextended(current_setting('commonplace.tenant_id') || chr(31) || key, 0) AS hash
  FROM unnest(CAST(:keys AS text[])) AS key
  ORDER BY hash
) AS ordered;
