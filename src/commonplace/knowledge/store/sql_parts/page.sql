-- The ids of a page in an order; sort, reverse, limit, offset and the last row of the page before are parameters.
page AS (
  SELECT CASE
    WHEN CAST(:sort AS text) = 'stored' AND NOT CAST(:reverse AS boolean) THEN ARRAY(
      SELECT id FROM matching
      WHERE CAST(:after AS jsonb) IS NULL OR (
        created_at <= CAST(:after_at AS timestamptz)
        AND (created_at < :after_at OR id > CAST(:after_id AS uuid))
      )
      ORDER BY created_at DESC, id
      LIMIT :limit OFFSET :offset
    )
    WHEN :sort = 'stored' THEN ARRAY(
      SELECT id FROM matching
      WHERE CAST(:after AS jsonb) IS NULL OR (
        created_at >= CAST(:after_at AS timestamptz)
        AND (created_at > :after_at OR id < CAST(:after_id AS uuid))
      )
      ORDER BY created_at, id DESC
      LIMIT :limit OFFSET :offset
    )
    WHEN NOT :reverse THEN ARRAY(
      SELECT id FROM placed
      WHERE NOT is_mark AND (
        CAST(:after AS jsonb) IS NULL
        OR (word, number, age, id) > (SELECT word, number, age, id FROM placed WHERE is_mark)
      )
      ORDER BY word, number, age, id
      LIMIT :limit OFFSET :offset
    )
    ELSE ARRAY(
      SELECT id FROM placed
      WHERE NOT is_mark AND (
        CAST(:after AS jsonb) IS NULL
        OR (word, number, age, id) < (SELECT word, number, age, id FROM placed WHERE is_mark)
      )
      ORDER BY word DESC, number DESC, age DESC, id DESC
      LIMIT :limit OFFSET :offset
    )
  END AS ids
)
