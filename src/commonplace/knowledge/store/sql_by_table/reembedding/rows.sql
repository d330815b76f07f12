-- class: MoveStatements
-- Statements of each table of memories; ${memories} is the table, ${text} the text of a row that is embedded.

-- name: count_rows_to_embed(version)$$
-- returns: int
-- The number of the tenant's memories without a vector of a model.
SELECT count(*) FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true)
  AND next_embedding_version IS DISTINCT FROM CAST(:version AS text);

-- name: rows_to_embed(version, after, limit)
-- columns: id UUID, text str, fingerprint str
-- The tenant's next memories without a vector of a model, by id. A model reads 256 tokens of a text, so long texts are cut;
-- the fingerprint covers the whole text.
SELECT id, left(${text}, 100000) AS text, md5(${text}) AS fingerprint FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id > CAST(:after AS uuid)
  AND next_embedding_version IS DISTINCT FROM CAST(:version AS text)
ORDER BY id
LIMIT :limit;

-- name: count_missed()$$
-- returns: int
-- The number of the tenant's memories that were stored or changed after the walk had passed.
SELECT count(*) FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND next_embedding IS NULL;

-- name: rows_missed(after, limit)
-- columns: id UUID, text str, fingerprint str
-- The tenant's memories that were stored or changed after the walk had passed; they have their own index.
SELECT id, left(${text}, 100000) AS text, md5(${text}) AS fingerprint FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id > CAST(:after AS uuid)
  AND next_embedding IS NULL
ORDER BY id
LIMIT :limit;

-- name: store_next_vectors(id, fingerprint, embedding, model, version)$$
-- returns: int
-- Stores vectors of the next model beside the vectors in use, unless a text has changed. Rows are locked by id, so that
-- batches cannot deadlock. Returns the number of stored vectors.
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
-- columns: id UUID
-- Removes unused vectors, except those of version :but_of, from the tenant's next memories by id; returns the ids.
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

-- name: any_stray()$$
-- returns: bool
-- Whether a memory of the tenant has no vector, or a vector of another model than the active one.
SELECT EXISTS (
  SELECT 1 FROM ${memories}
  WHERE tenant_id = current_setting('commonplace.tenant_id', true)
    AND embedding_version IS DISTINCT FROM (SELECT version FROM embedding_versions WHERE active)
);
