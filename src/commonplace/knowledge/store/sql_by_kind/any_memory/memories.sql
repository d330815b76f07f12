-- class: KindStatements
-- Statements for an episode, a fact or a rule; kinds.py fills in the placeholders.

-- name: read(id)^
-- columns: trust str
-- One memory in any state.
SELECT ${columns} FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: count_use(id, now)^
-- Count a use of a memory, unless it has expired or was forgotten, and return the memory; a fact in any state.
UPDATE ${memories} SET reference_count = reference_count + 1, last_referenced_at = :now
WHERE id = :id AND ${usable}
RETURNING ${columns};

-- name: between(first, last, most)
-- columns: id UUID, content str
-- Return the first memories of a range of ids, which the unique index over tenant and id finds.
SELECT id, ${text} AS content FROM ${memories}
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id BETWEEN :first AND :last
ORDER BY id
LIMIT CAST(:most AS integer);
