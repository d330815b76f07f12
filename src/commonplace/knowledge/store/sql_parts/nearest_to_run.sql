-- The nearest in meaning to any episode of a run first. Without episodes with vectors, the order is that of confirmation.
ORDER BY (
  SELECT min(known.embedding <=> episodes.embedding) FROM episodes
  WHERE episodes.tenant_id = current_setting('commonplace.tenant_id') AND episodes.lease_run = :run_id
), last_confirmed_at DESC NULLS LAST, id
LIMIT :limit
