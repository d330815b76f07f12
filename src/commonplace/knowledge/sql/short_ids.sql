-- Ids of a range: the unique index over tenant and id finds them.

-- name: episodes_between(first, last, most)
-- Return the first episodes of a range of ids.
SELECT id, content FROM episodes
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id BETWEEN :first AND :last
ORDER BY id
LIMIT CAST(:most AS integer);

-- name: facts_between(first, last, most)
-- Return the first facts of a range of ids.
SELECT id, concat_ws(' ', subject, predicate, content) AS content FROM facts
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id BETWEEN :first AND :last
ORDER BY id
LIMIT CAST(:most AS integer);

-- name: rules_between(first, last, most)
-- Return the first rules of a range of ids.
SELECT id, content FROM rules
WHERE tenant_id = current_setting('commonplace.tenant_id', true) AND id BETWEEN :first AND :last
ORDER BY id
LIMIT CAST(:most AS integer);
