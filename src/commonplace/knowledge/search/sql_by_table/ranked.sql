-- name: ranked_candidates
-- The memories that hold rare words of the query or are near it, as arrays in one order: what a ranking needs, and no
-- texts. Of episodes also the two turns on either side of each in its session, in the order of the sessions.
WITH ${candidates},
seed AS MATERIALIZED (SELECT id FROM matched UNION SELECT id FROM nearest),
pool AS MATERIALIZED (${pool}),
described AS MATERIALIZED (
  SELECT
    m.id, m.created_at, row_number() OVER (ORDER BY ${order}) AS place, ${next_id} AS next_id,
    ${vector} AS vector, ${importance} AS importance, m.${scope} <> 'global' AS own,
    CAST(1 - (m.embedding <=> CAST(:embedding AS vector(384))) AS float8) AS similarity,
    octet_length(m.content) AS octets, length(m.search_vector) AS distinct_words,
    right(rtrim(m.content), 1) IN ('?', '？', '؟') AS asks,
    (SELECT coalesce(bit_or(CAST(1 AS bigint) << place), 0) FROM words WHERE m.search_vector @@ query) AS present
  FROM pool, LATERAL (SELECT * FROM ${memories} AS m WHERE m.id = pool.id AND ${live} OFFSET 0) AS m
)
SELECT
  (SELECT array_agg(word ORDER BY place) FROM counted) AS words,
  (SELECT array_agg(memories ORDER BY place) FROM counted) AS frequencies,
  (SELECT base FROM size) AS total,
  array_agg(id ORDER BY place) AS ids,
  array_agg(next_id ORDER BY place) AS next_ids,
  array_agg(created_at ORDER BY place) AS created_at,
  array_agg(importance ORDER BY place) AS importance,
  array_agg(own ORDER BY place) AS own,
  array_agg(coalesce(similarity, 0) ORDER BY place) AS similarity,
  array_agg(octets ORDER BY place) AS octets,
  array_agg(distinct_words ORDER BY place) AS distinct_words,
  array_agg(asks ORDER BY place) AS asks,
  array_agg(present ORDER BY place) AS present,
  string_agg(vector, '' ORDER BY place) AS vectors
FROM described
HAVING count(*) > 0;

-- name: memories_by_id
-- Memories of the tenant and scopes asked for.
SELECT ${columns} FROM ${memories} AS m WHERE m.id = ANY(CAST(:ids AS uuid[])) AND ${own};
