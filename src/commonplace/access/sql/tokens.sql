-- Tokens, and the logins that were made with them; for SQLite and PostgreSQL alike.

-- name: insert_token(hash, name, tenant_id, role, created_at, expires_at)^
-- returns: Row
-- Adds a token, known by its hash alone, and returns it.
INSERT INTO access_tokens (hash, name, tenant_id, role, created_at, expires_at)
VALUES (:hash, :name, :tenant_id, :role, :created_at, :expires_at)
RETURNING *;

-- name: list_tokens()
-- Every token, revoked and expired ones too, in the order in which they were made.
SELECT * FROM access_tokens ORDER BY id;

-- name: token_by_hash(hash)^
-- columns: hash str
-- The token that has a hash, whatever its state, or nothing.
SELECT * FROM access_tokens WHERE hash = :hash;

-- name: revoke_token(token_id, moment)^
-- Revokes a token and returns it; a second call keeps the first time.
UPDATE access_tokens SET revoked_at = coalesce(revoked_at, :moment) WHERE id = :token_id RETURNING *;

-- name: note_use(token_id, moment)!
-- Notes when a token was last used.
UPDATE access_tokens SET last_used_at = :moment WHERE id = :token_id;

-- name: count_live(tenant_id, role, moment)$
-- returns: int
-- How many tokens of a tenant and a role are neither revoked nor expired.
SELECT count(*) FROM access_tokens
WHERE tenant_id = :tenant_id AND role = :role AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > :moment);

-- name: insert_login(hash, token_id, created_at, expires_at)!
-- Adds a login, known by the hash of its id alone.
INSERT INTO access_logins (hash, token_id, created_at, expires_at)
VALUES (:hash, :token_id, :created_at, :expires_at);

-- name: token_of_login(hash, moment)^
-- columns: hash str
-- The token of an unexpired login, whatever the token's state, or nothing.
SELECT t.* FROM access_logins l JOIN access_tokens t ON t.id = l.token_id
WHERE l.hash = :hash AND l.expires_at > :moment;

-- name: delete_login(hash)!
-- Ends a login.
DELETE FROM access_logins WHERE hash = :hash;

-- name: delete_stale_logins(moment)!
-- Removes the logins that have expired.
DELETE FROM access_logins WHERE expires_at <= :moment;

-- name: delete_logins_of(token_id)!
-- Ends every login that was made with a token.
DELETE FROM access_logins WHERE token_id = :token_id;
