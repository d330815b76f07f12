SELECT reading AS word
FROM unnest(CAST(:wanted AS text[])) AS reading, LATERAL (
  SELECT FROM ${words} AS w
  WHERE ${own_words} AND w.word = reading COLLATE "C" AND (w.expires_at IS NULL OR w.expires_at > :now)
  LIMIT 1
) AS held
