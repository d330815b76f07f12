-- Sets how far a search looks in the index on vectors, and lets it look further while a filter leaves too few rows. There
-- is no compilation and no parallel worker for statements that take milliseconds: the server would start workers even for
-- a branch that the size of the table rules out. Planning takes as long as the statement, so each connection plans once;
-- without sequential scans, such a plan stays good however many rows are added later. The planner adds up the costs of
-- all partitions of a table, although a statement reads only its tenant's, and would sort instead of using that index.
  (SELECT model FROM embedding_versions WHERE active) AS model,
  (SELECT version FROM embedding_versions WHERE active) AS version,
  set_config('hnsw.ef_search', '200', true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true),
  set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('enable_seqscan', 'off', true),
  set_config('enable_sort', 'off', true),
  set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true)
