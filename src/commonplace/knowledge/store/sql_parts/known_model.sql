-- The model of the vectors of input, which is known from then on.
model AS (
  INSERT INTO embedding_versions (model, version, dimensions)
  SELECT CAST(:model AS text), CAST(:version AS text), vector_dims(embedding) FROM input
  WHERE embedding IS NOT NULL LIMIT 1
  ON CONFLICT DO NOTHING
)
