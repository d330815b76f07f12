-- class: KindStatements

-- name: insert_passages(memory_id, place, start_char, end_char, embedding)!
-- Insert the passages of memories, with their vectors.
INSERT INTO ${memory_type}_passages (tenant_id, memory_id, place, start_char, end_char, embedding)
SELECT
  current_setting('commonplace.tenant_id'), memory_id, place, start_char, end_char, CAST(embedding AS halfvec(384))
FROM unnest(
  CAST(:memory_id AS uuid[]), CAST(:place AS integer[]), CAST(:start_char AS integer[]), CAST(:end_char AS integer[]),
  CAST(:embedding AS vector[])
) AS passage (memory_id, place, start_char, end_char, embedding)
ON CONFLICT DO NOTHING;

-- name: without_passages(after, limit)
-- columns: id UUID, heading str, content str
-- The tenant's next long memories without passages, by id, if their vectors are of the active model.
SELECT id, ${heading} AS heading, content FROM ${memories} AS m
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND commonplace_is_long(content)
  AND id > CAST(:after AS uuid) AND embedding_version = (SELECT version FROM embedding_versions WHERE active)
  AND NOT EXISTS (
    SELECT FROM ${memory_type}_passages AS p WHERE p.tenant_id = m.tenant_id AND p.memory_id = m.id
  )
ORDER BY id
LIMIT :limit;

-- name: lock_unchanged(ids, fingerprint, version)
-- columns: id UUID
-- Lock the memories whose text and model have not changed, so that neither changes before their passages are stored.
SELECT id FROM ${memories} JOIN unnest(CAST(:ids AS uuid[]), CAST(:fingerprint AS text[])) AS memory (id, fingerprint)
  USING (id)
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND md5(content) = memory.fingerprint
  AND embedding_version = CAST(:version AS text)
ORDER BY id
FOR SHARE OF ${memories};
