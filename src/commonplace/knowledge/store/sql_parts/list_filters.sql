-- The filters that lists of facts and rules share; NULL turns a filter off.
(CAST(:ids AS uuid[]) IS NULL OR id = ANY(CAST(:ids AS uuid[])))
  AND (CAST(:as_of AS timestamptz) IS NULL OR created_at <= :as_of)
  AND (CAST(:trusts AS text[]) IS NULL OR trust = ANY(CAST(:trusts AS text[])))
  AND (CAST(:tags AS jsonb) IS NULL OR tags @> CAST(:tags AS jsonb))
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at < :until)
  AND (CAST(:learned_by AS text) IS NULL OR source_butler = :learned_by)
  AND (CAST(:unused AS boolean) IS NULL OR :unused = (reference_count = 0))
  AND (CAST(:source AS text) IS NULL OR source = :source)
  AND (
    CAST(:max_confidence AS float8) IS NULL
    OR commonplace_effective_confidence(
      confidence, decay_rate, coalesce(last_confirmed_at, created_at), CAST(:now AS timestamptz)
    ) <= :max_confidence
  )
