-- The nearest in meaning to the episodes of a run first.
ORDER BY embedding <=> (
  SELECT avg(embedding) FROM episodes
  WHERE tenant_id = current_setting('commonplace.tenant_id') AND lease_run = :run_id
), last_confirmed_at DESC NULLS LAST, id
LIMIT :limit
