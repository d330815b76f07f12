-- name: contextual_candidates
-- The episodes that hold rare words of the query or are near it, and the two turns on either side of each in its
-- session; in the order of the sessions, with what a ranking by context needs.
WITH ${candidates},
seed AS MATERIALIZED (
  SELECT m.id, m.session_id, m.created_at, m.insertion_order
  FROM (SELECT id FROM matched UNION SELECT id FROM nearest) AS found, LATERAL (
    SELECT m.id, m.session_id, m.created_at, m.insertion_order
    FROM ${memories} AS m WHERE m.id = found.id AND ${live}
    OFFSET 0
  ) AS m
),
pool AS MATERIALIZED (
  SELECT id FROM seed
  UNION
  SELECT near.id FROM seed, LATERAL (
    (
      SELECT m.id FROM ${memories} AS m
      WHERE ${own} AND ${live} AND m.session_id = seed.session_id
        AND (m.created_at, m.insertion_order) < (seed.created_at, seed.insertion_order)
      ORDER BY m.created_at DESC, m.insertion_order DESC
      LIMIT 2
    )
    UNION ALL
    (
      SELECT m.id FROM ${memories} AS m
      WHERE ${own} AND ${live} AND m.session_id = seed.session_id
        AND (m.created_at, m.insertion_order) > (seed.created_at, seed.insertion_order)
      ORDER BY m.created_at, m.insertion_order
      LIMIT 2
    )
  ) AS near
)
SELECT
  ${columns}, m.embedding, length(m.search_vector) AS distinct_words,
  (SELECT coalesce(bit_or(CAST(1 AS bigint) << place), 0) FROM words WHERE m.search_vector @@ query) AS present,
  (
    SELECT next.id FROM ${memories} AS next
    WHERE ${own} AND ${live} AND next.session_id = m.session_id
      AND (next.created_at, next.insertion_order) > (m.created_at, m.insertion_order)
    ORDER BY next.created_at, next.insertion_order
    LIMIT 1
  ) AS next_id,
  (SELECT array_agg(word ORDER BY place) FROM counted) AS words,
  (SELECT array_agg(rarity ORDER BY place) FROM counted) AS rarities
FROM pool, LATERAL (SELECT * FROM ${memories} AS m WHERE m.id = pool.id OFFSET 0) AS m
ORDER BY m.session_id, m.created_at, m.insertion_order;
