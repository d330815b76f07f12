SELECT DISTINCT near.id, near.next_id
  FROM seed, LATERAL (
    SELECT m.session_id, m.created_at, m.insertion_order FROM ${memories} AS m WHERE m.id = seed.id AND ${live}
    OFFSET 0
  ) AS turn, LATERAL (
    SELECT
      ARRAY(
        SELECT m.id FROM ${memories} AS m
        WHERE ${own} AND ${live} AND m.session_id = turn.session_id
          AND (m.created_at, m.insertion_order) < (turn.created_at, turn.insertion_order)
        ORDER BY m.created_at DESC, m.insertion_order DESC
        LIMIT 2
      ) AS before,
      ARRAY(
        SELECT m.id FROM ${memories} AS m
        WHERE ${own} AND ${live} AND m.session_id = turn.session_id
          AND (m.created_at, m.insertion_order) > (turn.created_at, turn.insertion_order)
        ORDER BY m.created_at, m.insertion_order
        LIMIT 3 -- the third only as the next of the second
      ) AS after
    OFFSET 0
  ) AS around, LATERAL unnest(
    ARRAY[before[2], before[1], seed.id, after[1], after[2]],
    ARRAY[before[1], seed.id, after[1], after[2], after[3]]
  ) AS near (id, next_id)
  WHERE near.id IS NOT NULL
