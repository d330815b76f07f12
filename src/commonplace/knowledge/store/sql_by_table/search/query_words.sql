-- The words of the query with their places in it.
words AS MATERIALIZED (
  SELECT
    lexeme COLLATE "C" AS word,
    CAST(row_number() OVER (ORDER BY positions[1], lexeme COLLATE "C") - 1 AS integer) AS place,
    CAST(CAST(array_to_tsvector(ARRAY[lexeme]) AS text) AS tsquery) AS query
  FROM asked, unnest(asked.words)
  ORDER BY place
  LIMIT 60
)
