SELECT id FROM seed
  UNION
  SELECT near.id
  FROM seed, LATERAL (
    SELECT m.session_id, m.created_at, m.insertion_order FROM ${memories} AS m WHERE m.id = seed.id AND ${live}
    OFFSET 0
  ) AS turn, LATERAL (
    (
      SELECT m.id FROM ${memories} AS m
      WHERE ${own} AND ${live} AND m.session_id = turn.session_id
        AND (m.created_at, m.insertion_order) < (turn.created_at, turn.insertion_order)
      ORDER BY m.created_at DESC, m.insertion_order DESC
      LIMIT 2
    )
    UNION ALL
    (
      SELECT m.id FROM ${memories} AS m
      WHERE ${own} AND ${live} AND m.session_id = turn.session_id
        AND (m.created_at, m.insertion_order) > (turn.created_at, turn.insertion_order)
      ORDER BY m.created_at, m.insertion_order
      LIMIT 2
    )
  ) AS near
