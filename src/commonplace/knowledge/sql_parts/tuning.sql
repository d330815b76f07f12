-- How widely the index on vectors looks around, that it looks on while a filter leaves too few, and neither compilation
-- nor further processes for statements that take milliseconds: the server starts such processes even for the branch that
-- its size rules out. Planning takes as long as the statement, so each connection plans once; without sequential scans,
-- such a plan holds however many rows are added later. The planner adds up the costs of all partitions of a table, though
-- a statement reads that of its tenant alone, and would rather sort than use the index on vectors.
  (SELECT model FROM embedding_versions WHERE active) AS model,
  (SELECT version FROM embedding_versions WHERE active) AS version,
  set_config('hnsw.ef_search', '200', true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true),
  set_config('plan_cache_mode', 'force_generic_plan', true),
  set_config('enable_seqscan', 'off', true),
  set_config('enable_sort', 'off', true),
  set_config('jit', 'off', true),
  set_config('max_parallel_workers_per_gather', '0', true)
