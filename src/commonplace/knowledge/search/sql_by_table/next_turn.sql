(
      SELECT next.id FROM ${memories} AS next
      WHERE ${own} AND ${live} AND next.session_id = m.session_id
        AND (next.created_at, next.insertion_order) > (m.created_at, m.insertion_order)
      ORDER BY next.created_at, next.insertion_order
      LIMIT 1
    )
