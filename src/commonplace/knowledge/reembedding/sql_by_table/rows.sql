-- Statements of each table of memories; ${memories} is its name, ${text} what is embedded of a row.

-- name: count_rows_to_embed(version)$$
-- How many memories of the tenant lack a vector of a model.
SELECT count(*) FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true)
  AND next_embedding_version IS DISTINCT FROM CAST(:version AS text);

-- name: rows_to_embed(version, after, limit)
-- The next memories of the tenant that lack a vector of a model, by id. A model reads 256 tokens, however long a
-- text is, so the rest stays here; the fingerprint is of all of it.
SELECT id, left(${text}, 100000) AS text, md5(${text}) AS fingerprint FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id > CAST(:after AS uuid)
  AND next_embedding_version IS DISTINCT FROM CAST(:version AS text)
ORDER BY id
LIMIT :limit;

-- name: count_missed()$$
-- How many memories of the tenant came or changed behind the walk through the table.
SELECT count(*) FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND next_embedding IS NULL;

-- name: rows_missed(after, limit)
-- The memories of the tenant that came or changed behind the walk through the table; found by an index of their own.
SELECT id, left(${text}, 100000) AS text, md5(${text}) AS fingerprint FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id > CAST(:after AS uuid)
  AND next_embedding IS NULL
ORDER BY id
LIMIT :limit;

-- name: store_next_vectors(id, fingerprint, embedding, model, version)$$
-- Lays the vectors of the next model beside those in use, unless a text has changed since. Rows are locked by id, so
-- that no two batches wait for each other. Returns how many there were.
WITH given AS (
  SELECT * FROM unnest(
    CAST(:id AS uuid[]), CAST(:fingerprint AS text[]), CAST(:embedding AS vector[])
  ) AS given (id, fingerprint, embedding)
),
locked AS MATERIALIZED (
  SELECT id FROM ${memories}
  WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id = ANY(CAST(:id AS uuid[]))
  ORDER BY id
  FOR NO KEY UPDATE
),
stored AS (
  UPDATE ${memories} AS m SET
    next_embedding = given.embedding, next_embedding_model = CAST(:model AS text),
    next_embedding_version = CAST(:version AS text)
  FROM locked JOIN given USING (id)
  WHERE m.id = locked.id AND md5(${text}) = given.fingerprint
  RETURNING m.id
)
SELECT count(*) FROM stored;

-- name: clear_next_vectors(after, but_of, limit)
-- Removes vectors that are not in use, but those of one version, from the next memories of the tenant, by id; returns
-- their ids.
WITH locked AS MATERIALIZED (
  SELECT id FROM ${memories}
  WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id > CAST(:after AS uuid)
    AND next_embedding IS NOT NULL AND next_embedding_version IS DISTINCT FROM CAST(:but_of AS text)
  ORDER BY id
  LIMIT :limit
  FOR NO KEY UPDATE
),
cleared AS (
  UPDATE ${memories} AS m SET next_embedding = NULL, next_embedding_model = NULL, next_embedding_version = NULL
  FROM locked WHERE m.id = locked.id
  RETURNING m.id
)
SELECT id FROM cleared ORDER BY id;

-- name: any_stray$$
-- Whether a memory of the tenant has a vector of another model than the active one, or none.
SELECT EXISTS (
  SELECT 1 FROM ${memories}
  WHERE tenant_id = current_setting('commonplace.tenant_id', true)
    AND embedding_version IS DISTINCT FROM (SELECT version FROM embedding_versions WHERE active)
);
