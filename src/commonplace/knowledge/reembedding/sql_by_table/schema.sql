-- What a move to another model changes in the schema of each table of memories. No statement has parameters.

-- name: index_missed!
-- Finds what still lacks a vector of the next model: a few rows, once the table has been walked through.
CREATE INDEX CONCURRENTLY idx_${memories}_missed ON ${memories} (tenant_id, id) WHERE next_embedding IS NULL;

-- name: index_next!
-- Searches the vectors of the next model; the same as the index in use, which goes on being used meanwhile.
CREATE INDEX CONCURRENTLY idx_${memories}_next_embedding ON ${memories}
USING hnsw ((CAST(next_embedding AS halfvec(384))) halfvec_cosine_ops) WITH (m = 12, ef_construction = 32)
${searched};

-- name: drop_index_missed!
-- Takes away the index of what is missing.
DROP INDEX CONCURRENTLY IF EXISTS idx_${memories}_missed;

-- name: drop_index_next!
-- Takes away the index of the next model's vectors.
DROP INDEX CONCURRENTLY IF EXISTS idx_${memories}_next_embedding;

-- name: analyse!
-- Lets the planner know that few rows lack a vector now.
ANALYZE ${memories};

-- name: lift_policy!
-- Lets the owner see the rows of every tenant, for the rest of a transaction that keeps everybody else out.
ALTER TABLE ${memories} NO FORCE ROW LEVEL SECURITY;

-- name: restore_policy!
-- Hides the rows of other tenants from the owner again.
ALTER TABLE ${memories} FORCE ROW LEVEL SECURITY;

-- name: switch!
-- Exchanges the vectors in use for the next ones: names change, and no row does. The trigger follows the column by its
-- number, so it is made again.
DROP INDEX idx_${memories}_missed;
DROP INDEX idx_${memories}_embedding;
DROP TRIGGER ${memories}_vector_changed ON ${memories};
ALTER TABLE ${memories} RENAME COLUMN embedding TO former_embedding;
ALTER TABLE ${memories} RENAME COLUMN embedding_model TO former_embedding_model;
ALTER TABLE ${memories} RENAME COLUMN embedding_version TO former_embedding_version;
ALTER TABLE ${memories} RENAME COLUMN next_embedding TO embedding;
ALTER TABLE ${memories} RENAME COLUMN next_embedding_model TO embedding_model;
ALTER TABLE ${memories} RENAME COLUMN next_embedding_version TO embedding_version;
ALTER TABLE ${memories} RENAME COLUMN former_embedding TO next_embedding;
ALTER TABLE ${memories} RENAME COLUMN former_embedding_model TO next_embedding_model;
ALTER TABLE ${memories} RENAME COLUMN former_embedding_version TO next_embedding_version;
ALTER INDEX idx_${memories}_next_embedding RENAME TO idx_${memories}_embedding;
CREATE TRIGGER ${memories}_vector_changed BEFORE UPDATE OF embedding ON ${memories}
FOR EACH ROW EXECUTE FUNCTION commonplace_check_changed_vector();
