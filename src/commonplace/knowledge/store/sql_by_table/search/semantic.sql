-- The nearest memories in the order of their distance; that of a long memory may be the distance of a passage.
semantic AS MATERIALIZED (
  SELECT m.id, row_number() OVER (ORDER BY m.distance, m.created_at DESC, m.id) AS place
  FROM nearest LEFT JOIN near_passages USING (id), LATERAL (
    SELECT
      m.id, m.created_at,
      least(m.embedding <=> CAST(:embedding AS vector(384)), near_passages.distance) AS distance
    FROM ${memories} AS m WHERE m.id = nearest.id
    OFFSET 0
  ) AS m
  ORDER BY place
  LIMIT CAST(:limit AS integer)
)
