-- class: QueueStatements
-- These statements run with the queue's schema first in the search path: Procrastinate's triggers name no schema.

-- name: set_queue_path()^
-- Puts the queue's schema first in the search path until the transaction ends.
SELECT set_config('search_path', 'procrastinate, ' || current_setting('search_path'), true);

-- name: list_tenants()
-- columns: tenant_id str
-- All tenants, by id.
SELECT tenant_id FROM tenants ORDER BY tenant_id;

-- name: last_ticks(until)
-- columns: task_name str, tick int
-- The last started tick of each schedule, in seconds since 1970; ticks after :until come from a wrong clock and do not
-- count.
SELECT task_name, max(defer_timestamp) AS tick
FROM procrastinate_periodic_defers
WHERE defer_timestamp <= CAST(:until AS bigint)
GROUP BY task_name;

-- name: note_outcome(job_id, result, error)!
-- Records the outcome of a job, in place of an earlier outcome.
INSERT INTO job_outcomes (job_id, result, error) VALUES (:job_id, CAST(:result AS jsonb), :error)
ON CONFLICT (job_id) DO UPDATE SET result = excluded.result, error = excluded.error, ended_at = now();

-- name: due_in(wait_s)$
-- returns: datetime
-- The time in :wait_s seconds by the server's clock, which decides when jobs are due.
SELECT now() + make_interval(secs => CAST(:wait_s AS double precision));

-- name: bring_forward(longest_s)
-- columns: id int, task_name str
-- Makes jobs due that a wrong clock postponed for longer than any job waits. Returns them.
UPDATE procrastinate_jobs SET scheduled_at = now()
WHERE status = 'todo' AND scheduled_at > now() + make_interval(secs => CAST(:longest_s AS double precision))
RETURNING id, task_name;

-- name: take_back_jobs(worker_id, ended, silent_s, most_attempts, died)
-- columns: id int, status str, task_name str
-- Requeues jobs whose worker died, or whose end could not be recorded (:ended, of :worker_id). A job that was tried too
-- often fails, and so does a job whose successor already waits. Returns the jobs.
WITH lost AS (
  SELECT
    jobs.id, jobs.attempts + 1 >= CAST(:most_attempts AS integer) AS hopeless,
    EXISTS (
      SELECT FROM procrastinate_jobs AS waiting
      WHERE waiting.status = 'todo' AND waiting.queueing_lock = jobs.queueing_lock
    ) AS succeeded_by_another
  FROM procrastinate_jobs AS jobs
  WHERE jobs.status = 'doing' AND (
    jobs.worker_id IS NULL
    OR (jobs.worker_id = CAST(:worker_id AS bigint) AND jobs.id = ANY (CAST(:ended AS bigint[])))
    OR EXISTS (
      SELECT FROM procrastinate_workers AS workers
      WHERE workers.id = jobs.worker_id
        -- A sign of life in the future means that the server's clock was set back.
        AND abs(extract(epoch FROM now() - workers.last_heartbeat)) > CAST(:silent_s AS double precision)
    )
  )
  FOR UPDATE OF jobs SKIP LOCKED
),
back AS (
  UPDATE procrastinate_jobs AS jobs SET
    status = CASE WHEN hopeless OR succeeded_by_another THEN 'failed' ELSE 'todo' END::procrastinate_job_status,
    attempts = attempts + 1, worker_id = NULL, abort_requested = false, scheduled_at = NULL
  FROM lost WHERE jobs.id = lost.id
  RETURNING jobs.id, jobs.task_name, jobs.args, jobs.status::text AS status, jobs.attempts
),
outcomes AS (
  INSERT INTO job_outcomes (job_id, error) SELECT id, CAST(:died AS text) FROM back WHERE status = 'failed'
  ON CONFLICT (job_id) DO UPDATE SET error = excluded.error, ended_at = now()
)
SELECT
  id, task_name, args, status, attempts,
  -- Workers listen for new jobs only.
  pg_notify('procrastinate_any_queue_v1', json_build_object('type', 'job_inserted', 'job_id', id)::text) AS told
FROM back;
