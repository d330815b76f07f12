-- The model of a single vector, which is known from then on; without a vector, nothing.
vector_model AS (
  INSERT INTO embedding_versions (model, version, dimensions)
  SELECT CAST(:model AS text), CAST(:version AS text), vector_dims(CAST(:embedding AS vector))
  WHERE CAST(:embedding AS vector) IS NOT NULL
  ON CONFLICT DO NOTHING
)
