-- class: MoveStatements
-- The schema changes of a move, for each table of memories. No statement has parameters. ${memories} is the table with its
-- partitions, ${leaf} the table that holds the rows: the same one, or each of its partitions.

-- name: index_missed()!
-- The index of rows without a vector of the next model: few rows, once the walk is over.
CREATE INDEX CONCURRENTLY idx_${leaf}_missed ON ${leaf} (tenant_id, id) WHERE next_embedding IS NULL;

-- name: index_next()!
-- The index of the next model's vectors; equal to the index in use, which stays in use meanwhile.
CREATE INDEX CONCURRENTLY idx_${leaf}_next_embedding ON ${leaf}
USING hnsw ((CAST(next_embedding AS halfvec(384))) halfvec_cosine_ops) WITH (m = 12, ef_construction = 32)
${searched};

-- name: drop_index_missed()!
-- Drops the index of missing vectors.
DROP INDEX CONCURRENTLY IF EXISTS idx_${leaf}_missed;

-- name: drop_index_next()!
-- Drops the index of the next model's vectors.
DROP INDEX CONCURRENTLY IF EXISTS idx_${leaf}_next_embedding;

-- name: analyse()!
-- Tells the planner that few rows lack a vector.
ANALYZE ${leaf};

-- name: lift_policy()!
-- Shows the owner the rows of every tenant, in a transaction that locks all others out.
ALTER TABLE ${memories} NO FORCE ROW LEVEL SECURITY;

-- name: restore_policy()!
-- Hides the rows of other tenants from the owner again.
ALTER TABLE ${memories} FORCE ROW LEVEL SECURITY;

-- name: drop_index_in_use()!
-- Drops the index of missing vectors in the transaction of the switch.
DROP INDEX idx_${leaf}_missed;

-- name: drop_replaced_index()!
-- Drops the index of the vectors in use, with those of partitions.
DROP INDEX idx_${memories}_embedding;

-- name: switch()!
-- Swaps the vectors in use and the next vectors by renaming columns; no row changes. The trigger refers to the column by
-- its number, so it is created again.
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
CREATE TRIGGER ${memories}_vector_changed BEFORE UPDATE OF embedding ON ${memories}
FOR EACH ROW EXECUTE FUNCTION commonplace_check_changed_vector();

-- name: rename_index_next()!
-- Gives the index of the vectors that are now in use its usual name.
ALTER INDEX idx_${leaf}_next_embedding RENAME TO idx_${leaf}_embedding;

-- name: index_of_partitions()!
-- The index of the whole table, to which the indexes of the partitions belong.
CREATE INDEX idx_${memories}_embedding ON ONLY ${memories}
USING hnsw ((CAST(embedding AS halfvec(384))) halfvec_cosine_ops) WITH (m = 12, ef_construction = 32)
${searched};

-- name: attach_index()!
-- Adds the index of a partition to the index of the whole table.
ALTER INDEX idx_${memories}_embedding ATTACH PARTITION idx_${leaf}_embedding;
