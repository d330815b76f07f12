-- class: SearchStatements

-- name: semantic_search
-- columns: is_stale bool
-- The nearest memories by the cosine of their vectors, the nearest first.
WITH ${candidates}
SELECT
  ${columns}, ${stale} AS is_stale,
  1 - least(m.embedding <=> CAST(:embedding AS vector(384)), near_passages.distance) AS similarity
FROM semantic LEFT JOIN near_passages USING (id),
  LATERAL (SELECT * FROM ${memories} AS m WHERE m.id = semantic.id OFFSET 0) AS m
ORDER BY semantic.place;

-- name: keyword_search
-- columns: is_stale bool
-- The memories that hold a word of the query, by ts_rank.
WITH ${candidates}
SELECT ${columns}, ${stale} AS is_stale, ts_rank(m.search_vector, asked.any_word) AS rank
FROM asked, keyword, LATERAL (SELECT * FROM ${memories} AS m WHERE m.id = keyword.id OFFSET 0) AS m
ORDER BY keyword.place;

-- name: hybrid_search
-- columns: is_stale bool
-- Both lists fused: each memory scores the sum of 1 / (${rrf_k} + rank), a list that lacks it counting as its end. All
-- memories of both lists, because those of several tables are fused once more.
WITH ${candidates},
-- Materialised, because row-level security lets an index be used for a plain column, and not for an expression.
fused AS MATERIALIZED (
  SELECT
    id, coalesce(semantic.place, :limit + 1) AS semantic_rank, coalesce(keyword.place, :limit + 1) AS keyword_rank
  FROM semantic FULL JOIN keyword USING (id)
)
SELECT
  ${columns}, ${stale} AS is_stale,
  1 - least(m.embedding <=> CAST(:embedding AS vector(384)), near_passages.distance) AS similarity,
  ts_rank(m.search_vector, asked.any_word) AS rank, fused.semantic_rank, fused.keyword_rank,
  1 / CAST(${rrf_k} + fused.semantic_rank AS float8) + 1 / CAST(${rrf_k} + fused.keyword_rank AS float8) AS rrf_score
FROM asked, fused LEFT JOIN near_passages USING (id),
  LATERAL (SELECT * FROM ${memories} AS m WHERE m.id = fused.id OFFSET 0) AS m
ORDER BY rrf_score DESC, fused.semantic_rank, m.created_at DESC, m.id;
