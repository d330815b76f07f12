-- class: SearchStatements

-- name: literal_search
-- The live memories that hold words: those with the rarest words first, then the newest. Without words, the newest
-- memories. A pattern describes a word in bare text; any_word is all of them in one. about is a pattern of the names that
-- the memories must hold, unless their entity is one of about_ids. Words may be parts of words, so no index knows them:
-- all live memories of the tenant are read, 100,000 short ones in a tenth of a second.
WITH holding AS MATERIALIZED (
  SELECT
    stored.id, stored.created_at,
    ARRAY(
      SELECT asked.place FROM unnest(CAST(:patterns AS text[])) WITH ORDINALITY AS asked (pattern, place)
      WHERE stored.bare_text ~ asked.pattern
    ) AS places
  FROM (
    SELECT m.id, m.created_at, ${is_about} AS is_about, ${bare_text} AS bare_text
    FROM ${memories} AS m WHERE ${own} AND ${live}
    OFFSET 0
  ) AS stored
  WHERE (CAST(:any_word AS text) IS NULL OR stored.bare_text ~ CAST(:any_word AS text))
    AND (CAST(:about AS text) IS NULL OR stored.is_about OR stored.bare_text ~ CAST(:about AS text))
),
weights AS MATERIALIZED (
  SELECT place, ln(1 + (SELECT count(*) FROM holding) / CAST(count(*) AS float8)) AS weight
  FROM holding, unnest(holding.places) AS place
  GROUP BY place
),
best AS MATERIALIZED (
  SELECT id, row_number() OVER (ORDER BY weight DESC, created_at DESC, id) AS place
  FROM (
    SELECT
      id, created_at,
      coalesce((SELECT sum(weights.weight) FROM weights WHERE weights.place = ANY(holding.places)), 0) AS weight
    FROM holding
  ) AS weighed
  ORDER BY place
  LIMIT CAST(:limit AS integer)
)
SELECT ${columns}
FROM best, LATERAL (SELECT * FROM ${memories} AS m WHERE m.id = best.id OFFSET 0) AS m
ORDER BY best.place;
