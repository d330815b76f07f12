-- class: RequestStatements
-- Answers of requests with a key, stored in the transaction of their effect; for SQLite and PostgreSQL alike.

-- name: mark_request(tenant_id, key, fingerprint, claim, expires_at)$
-- returns: str | None
-- Marks that a request changes something in this transaction; returns nothing if another attempt has changed it.
INSERT INTO request_answers (tenant_id, key, fingerprint, claim, expires_at)
VALUES (:tenant_id, :key, :fingerprint, :claim, :expires_at)
ON CONFLICT (tenant_id, key) DO UPDATE SET claim = excluded.claim WHERE request_answers.claim = excluded.claim
RETURNING claim;

-- name: keep_answer(tenant_id, key, status, media_type, location, body)!
-- Keeps the answer of a request that this transaction has marked.
UPDATE request_answers SET status = :status, media_type = :media_type, location = :location, body = :body
WHERE tenant_id = :tenant_id AND key = :key;

-- name: answer_of(tenant_id, key, now)^
-- columns: fingerprint str, status int | None
-- The request that has changed this database under a key, and its answer.
SELECT fingerprint, status, media_type, location, body
FROM request_answers
WHERE tenant_id = :tenant_id AND key = :key AND expires_at >= :now;

-- name: delete_expired_answers(now)!
-- Deletes expired answers.
DELETE FROM request_answers WHERE expires_at < :now;
