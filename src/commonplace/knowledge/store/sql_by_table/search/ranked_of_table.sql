-- The memories of one table that hold rare words of the query or are near it, as arrays in one order: what a ranking
-- needs, and no texts. Of episodes also the two turns on either side of each in its session, in the order of the
-- sessions, and the products of the vector of each with those of the four rows behind it.
SELECT ${type} AS memory_type, ranked.* FROM (
  WITH ${candidates},
  seed AS MATERIALIZED (SELECT id FROM matched UNION SELECT id FROM nearest),
  pool AS MATERIALIZED (${pool}),
  described AS MATERIALIZED (
    SELECT
      m.id, m.created_at, row_number() OVER in_order AS place, pool.next_id, ${products}
      ${importance} AS importance, m.${scope} <> 'global' AS own,
      m.similarity, octet_length(m.content) AS octets, length(m.search_vector) AS distinct_words, m.asks,
      (SELECT coalesce(bit_or(CAST(1 AS bigint) << place), 0) FROM words WHERE m.search_vector @@ query) AS present
    FROM pool LEFT JOIN near_passages USING (id), LATERAL (
      -- The cast that seems to do nothing reads the vector, which lies outside of its row, once for all uses. Functions
      -- of characters take ten times as long to find the end of a text as those of octets.
      SELECT
        *, CAST(CAST(m.embedding AS vector) AS vector(384)) AS meaning,
        rtrim(convert_to(m.content, 'UTF8'), ' ') AS text
      FROM ${memories} AS m WHERE m.id = pool.id AND ${live}
      OFFSET 0
    ) AS stored, LATERAL (
      SELECT
        stored.*,
        CAST(
          1 - least(stored.meaning <=> CAST(:embedding AS vector(384)), near_passages.distance) AS float8
        ) AS similarity,
        substr(stored.text, length(stored.text)) = convert_to('?', 'UTF8')
          OR substr(stored.text, length(stored.text) - 1) = convert_to('؟', 'UTF8')
          OR substr(stored.text, length(stored.text) - 2) = convert_to('？', 'UTF8') AS asks${direction}
      OFFSET 0
    ) AS m
    WINDOW in_order AS (ORDER BY ${order})
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
    ${product_arrays}
  FROM described
  HAVING count(*) > 0
) AS ranked
