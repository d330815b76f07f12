-- A page of events, the latest first; NULL turns a filter off.
(CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:event_types AS text[]) IS NULL OR event_type = ANY(:event_types))
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset
