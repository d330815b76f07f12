-- The beginning of every search; the statements of searches.sql name the parts that they use, and the server computes
-- no more than that. ${memories} and ${words} are the tables, ${own} keeps to the tenant and the scopes asked for,
-- ${live} to what has not expired, been superseded or forgotten.
--
-- The words of a question are looked up in ${words}. A rare word says more than a common one, and common words
-- match everything: postings are read from the rarest word on until there are 2,000, and what holds the rarest
-- words goes on. ${matches} and ${neighbours} are numbers, because a plan must know them. An index on vectors finds
-- little under the filter of a small tenant or scope, where an exact scan is quick: the size decides, and whether the
-- filter keeps half of the table.
--
-- Passages find long memories, too. ${passages} is their table; if the tenant has no passages, no part of a statement
-- looks for them. Only the nearest passages count, because reading those of each candidate would double the cost. The
-- index on passages looks less far than the index on memories, which finds most memories as well. ${passage_distance} is
-- the distance of the nearest passage of a memory.
asked AS MATERIALIZED (
  SELECT
    CAST(regexp_replace(
      CAST(plainto_tsquery('pg_catalog.english', CAST(:query AS text)) AS text), ' (&|<->|<[0-9]+>) ', ' | ', 'g'
    ) AS tsquery) AS any_word,
    to_tsvector('pg_catalog.english', CAST(:query AS text)) AS words,
    CAST(greatest(5000, least(20000, known.rows / 20)) AS bigint) AS exact_below, known.rows
  FROM (
    SELECT sum(reltuples) AS rows FROM pg_catalog.pg_class
    WHERE relkind = 'r' AND oid = ANY(
      CAST('${memories}' AS regclass)
      || ARRAY(SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = CAST('${memories}' AS regclass))
    )
  ) AS known
),
size AS MATERIALIZED (
  SELECT
    counted.memories, least(counted.memories, 5000) AS base,
    counted.memories >= asked.exact_below
      OR (counted.memories >= 500 AND asked.rows BETWEEN 1 AND 2 * counted.memories) AS by_index
  FROM asked, LATERAL (
    SELECT count(*) AS memories
    FROM (SELECT FROM ${memories} AS m WHERE ${own} AND ${countable} LIMIT asked.exact_below) AS capped
  ) AS counted
),
-- Counts passages up to the number that decides for the index. A graph finds little under the filter of a small scope.
passages AS MATERIALIZED (
  SELECT
    total.passages > 0 AS exist,
    total.passages >= threshold.exact_below AND (${all_scopes} OR size.by_index) AS by_index
  FROM size, (
    SELECT CAST(greatest(2000, least(20000, reltuples / 20)) AS bigint) AS exact_below
    FROM pg_catalog.pg_class WHERE oid = CAST('${passages}' AS regclass)
  ) AS threshold, LATERAL (
    SELECT count(*) AS passages
    FROM (SELECT FROM ${passages} AS p WHERE ${own_passages} LIMIT threshold.exact_below) AS first_passages
  ) AS total
),
${query_words},
counted AS MATERIALIZED (
  SELECT
    words.word, words.place, found.memories,
    ln((size.base + 1) / least(found.memories + CAST(0.5 AS float8), size.base + 1))
      / ln(CAST(2 AS float8) * (size.base + 1)) AS rarity
  FROM size, words, LATERAL (
    SELECT count(*) AS memories FROM (
      SELECT FROM ${words} AS w
      WHERE ${own_words} AND w.word = words.word AND (w.expires_at IS NULL OR w.expires_at > :now)
      LIMIT 2000
    ) AS capped
  ) AS found
),
picked AS MATERIALIZED (
  SELECT word, rarity
  FROM (
    SELECT
      word, rarity, sum(memories) OVER by_rarity AS postings, row_number() OVER by_rarity AS place
    FROM counted WHERE memories > 0
    WINDOW by_rarity AS (ORDER BY memories, word)
  ) AS ordered
  WHERE place = 1 OR postings <= 2000
),
matched AS MATERIALIZED (
  -- Summed in millionths, for a sum of fractions depends on their order.
  SELECT posting.memory_id AS id, sum(CAST(picked.rarity * 1000000 AS integer)) AS weight
  FROM picked, LATERAL (
    SELECT w.memory_id FROM ${words} AS w
    WHERE ${own_words} AND w.word = picked.word AND (w.expires_at IS NULL OR w.expires_at > :now)
    LIMIT 2000
  ) AS posting
  GROUP BY posting.memory_id
  ORDER BY weight DESC, posting.memory_id
  LIMIT ${matches}
),
near_passages AS MATERIALIZED (
  SELECT id, min(distance) AS distance
  FROM (
    SELECT m.id, p.embedding <=> CAST(CAST(:embedding AS vector(384)) AS halfvec(384)) AS distance
    FROM ${passages} AS p, LATERAL (
      SELECT m.id FROM ${memories} AS m
      WHERE m.tenant_id = p.tenant_id AND m.id = p.memory_id AND ${own} AND ${live}
      OFFSET 0
    ) AS m
    WHERE ${own_passages} AND CAST(:embedding AS vector(384)) IS NOT NULL
      AND (SELECT by_index AND set_config('hnsw.ef_search', '80', true) <> '' FROM passages)
    ORDER BY distance
    LIMIT ${neighbours}
  ) AS by_index
  GROUP BY id
  UNION ALL
  (
    SELECT m.id, ${passage_distance} AS distance
    FROM ${memories} AS m
    WHERE ${own} AND ${live} AND commonplace_is_long(content) AND CAST(:embedding AS vector(384)) IS NOT NULL
      AND (SELECT exist AND NOT by_index FROM passages)
    ORDER BY distance, m.id
    LIMIT ${neighbours}
  )
),
near_memories AS MATERIALIZED (
  (
    SELECT m.id, CAST(m.embedding AS halfvec(384)) <=> CAST(CAST(:embedding AS vector(384)) AS halfvec(384)) AS distance
    FROM ${memories} AS m
    WHERE ${own} AND ${live} AND CAST(:embedding AS vector(384)) IS NOT NULL
      AND (SELECT by_index AND set_config('hnsw.ef_search', '200', true) <> '' FROM size)
    ORDER BY distance
    LIMIT ${neighbours}
  )
  UNION ALL
  (
    -- + 0 keeps the server from the index, which orders by the bare distance.
    SELECT m.id, (m.embedding <=> CAST(:embedding AS vector(384))) + 0 AS distance
    FROM ${memories} AS m
    WHERE ${own} AND ${live} AND m.embedding IS NOT NULL AND (SELECT NOT by_index FROM size)
      AND CAST(:embedding AS vector(384)) IS NOT NULL
    ORDER BY distance, m.id
    LIMIT ${neighbours}
  )
  UNION ALL
  (
    -- Without a question, the most important memories.
    SELECT m.id, 0 FROM ${memories} AS m
    WHERE ${own} AND ${live} AND CAST(:query AS text) = '' AND CAST(:embedding AS vector(384)) IS NULL
    ORDER BY ${importance} DESC, m.created_at DESC, m.id
    LIMIT ${neighbours}
  )
),
-- As many as without passages: a candidate more costs the ranking more than it costs the search.
nearest AS MATERIALIZED (
  SELECT id
  FROM (SELECT id, distance FROM near_memories UNION ALL SELECT id, distance FROM near_passages) AS near
  GROUP BY id
  ORDER BY min(distance), id
  LIMIT ${neighbours}
),
${semantic},
keyword AS MATERIALIZED (
  -- ts_rank knows no rarity, and most of what it finds ranks alike.
  SELECT m.id, row_number() OVER (ORDER BY m.rank DESC, matched.weight DESC, m.created_at DESC, m.id) AS place
  FROM asked, matched, LATERAL (
    SELECT m.id, m.created_at, ts_rank(m.search_vector, asked.any_word) AS rank
    FROM ${memories} AS m WHERE m.id = matched.id AND ${live}
    OFFSET 0
  ) AS m
  ORDER BY place
  LIMIT CAST(:limit AS integer)
)
