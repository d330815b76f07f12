-- name: claim_request(key, fingerprint, claim, lease, keep)^
-- Claims a request under its key. An expired answer makes room, and so does a claim whose process died before it
-- changed anything. Returns nothing if the key is taken.
INSERT INTO kept_answers AS kept (tenant_id, key, fingerprint, claim, claimed_until, expires_at)
VALUES (
  current_setting('commonplace.tenant_id'), :key, :fingerprint, :claim, now() + CAST(:lease AS interval),
  now() + CAST(:keep AS interval)
)
ON CONFLICT (tenant_id, key) DO UPDATE SET claim = excluded.claim, claimed_until = excluded.claimed_until
WHERE kept.fingerprint = excluded.fingerprint AND kept.status IS NULL AND kept.applied_at IS NULL
  AND kept.claimed_until < now()
RETURNING claim;

-- name: answer_of(key)^
-- returns: Row
-- columns: fingerprint str, status int | None, is_lost bool
-- The request under a key, and its answer. claim_request has locked the row even if it changed nothing.
SELECT fingerprint, status, media_type, location, body, applied_at IS NOT NULL AND claimed_until < now() AS is_lost
FROM kept_answers
WHERE tenant_id = current_setting('commonplace.tenant_id') AND key = :key;

-- name: mark_claim(key, claim)$
-- returns: UUID | None
-- Marks that a request changes something in this transaction; returns nothing if the claim was lost.
UPDATE kept_answers SET applied_at = coalesce(applied_at, now())
WHERE tenant_id = current_setting('commonplace.tenant_id') AND key = :key AND claim = :claim
RETURNING claim;

-- name: renew_claim(key, claim, lease)!
-- Lets a claim last longer.
UPDATE kept_answers SET claimed_until = clock_timestamp() + CAST(:lease AS interval)
WHERE tenant_id = current_setting('commonplace.tenant_id') AND key = :key AND claim = :claim;

-- name: keep_answer(key, claim, status, media_type, location, body)!
-- Keeps the answer of a request.
UPDATE kept_answers SET status = :status, media_type = :media_type, location = :location, body = :body
WHERE tenant_id = current_setting('commonplace.tenant_id') AND key = :key AND claim = :claim;

-- name: release_claim(key, claim)!
-- Gives up a claim whose request has changed nothing.
DELETE FROM kept_answers
WHERE tenant_id = current_setting('commonplace.tenant_id') AND key = :key AND claim = :claim AND applied_at IS NULL;

-- name: delete_expired_answers()!
-- Deletes expired answers of the tenant.
DELETE FROM kept_answers WHERE tenant_id = current_setting('commonplace.tenant_id') AND expires_at < now();
