-- The beginning of a search of the past or with filters, in place of candidates.sql. The table of words and the index on
-- vectors are about all memories of the present, so all memories of that time, or that pass the filters, are compared.
known AS MATERIALIZED (SELECT m.id FROM ${memories} AS m WHERE ${own} AND ${live}),
asked AS MATERIALIZED (
  SELECT
    CAST(regexp_replace(
      CAST(plainto_tsquery('pg_catalog.english', CAST(:query AS text)) AS text), ' (&|<->|<[0-9]+>) ', ' | ', 'g'
    ) AS tsquery) AS any_word,
    to_tsvector('pg_catalog.english', CAST(:query AS text)) AS words
),
size AS MATERIALIZED (SELECT least(count(*), 5000) AS base FROM known),
passages AS MATERIALIZED (SELECT EXISTS (SELECT FROM ${passages} AS p WHERE ${own_passages}) AS exist),
${query_words},
counted AS MATERIALIZED (
  SELECT
    words.word, words.place, words.query, found.memories,
    ln((size.base + 1) / least(found.memories + CAST(0.5 AS float8), size.base + 1))
      / ln(CAST(2 AS float8) * (size.base + 1)) AS rarity
  FROM size, words, LATERAL (
    SELECT count(*) AS memories FROM known, ${memories} AS m WHERE m.id = known.id AND m.search_vector @@ words.query
  ) AS found
),
matched AS MATERIALIZED (
  SELECT m.id, sum(CAST(counted.rarity * 1000000 AS integer)) AS weight
  FROM known, ${memories} AS m, counted
  WHERE m.id = known.id AND m.search_vector @@ counted.query
  GROUP BY m.id
  ORDER BY weight DESC, m.id
  LIMIT ${matches}
),
near_passages AS MATERIALIZED (
  SELECT m.id, ${passage_distance} AS distance
  FROM known, ${memories} AS m
  WHERE m.id = known.id AND commonplace_is_long(m.content) AND CAST(:embedding AS vector(384)) IS NOT NULL
    AND (SELECT exist FROM passages)
),
nearest AS MATERIALIZED (
  (
    SELECT m.id FROM known LEFT JOIN near_passages USING (id), ${memories} AS m
    WHERE m.id = known.id AND m.embedding IS NOT NULL AND CAST(:embedding AS vector(384)) IS NOT NULL
    ORDER BY least(m.embedding <=> CAST(:embedding AS vector(384)), near_passages.distance) + 0, m.id
    LIMIT ${neighbours}
  )
  UNION ALL
  (
    SELECT m.id FROM known, ${memories} AS m
    WHERE m.id = known.id AND CAST(:query AS text) = '' AND CAST(:embedding AS vector(384)) IS NULL
    ORDER BY ${importance} DESC, m.created_at DESC, m.id
    LIMIT ${neighbours}
  )
),
${semantic},
keyword AS MATERIALIZED (
  SELECT
    m.id,
    row_number() OVER (
      ORDER BY ts_rank(m.search_vector, asked.any_word) DESC, matched.weight DESC, m.created_at DESC, m.id
    ) AS place
  FROM asked, matched, ${memories} AS m WHERE m.id = matched.id
  ORDER BY place
  LIMIT CAST(:limit AS integer)
)
