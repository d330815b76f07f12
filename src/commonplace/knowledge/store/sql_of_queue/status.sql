-- class: QueueStatements
-- The status of background work, for operators.

-- name: has_queue()$
-- returns: bool
-- Whether a worker ever ran here.
SELECT to_regclass('procrastinate.worker_details') IS NOT NULL;

-- name: list_workers()
-- Registered workers, the oldest first, with their running jobs and the time since their last sign of life.
SELECT
  workers.id, coalesce(details.name, 'unknown') AS name, coalesce(details.concurrency, 0) AS concurrency,
  details.started_at, workers.last_heartbeat AS heard_at,
  extract(epoch FROM now() - workers.last_heartbeat)::double precision AS silent_s,
  (SELECT count(*) FROM procrastinate_jobs WHERE worker_id = workers.id AND status = 'doing') AS doing
FROM procrastinate_workers AS workers LEFT JOIN worker_details AS details ON details.worker_id = workers.id
ORDER BY workers.id;

-- name: count_jobs()
-- columns: status str, jobs int
-- Jobs by state.
SELECT status::text AS status, count(*) AS jobs FROM procrastinate_jobs GROUP BY 1 ORDER BY 1;

-- name: oldest_waiting_at()$
-- returns: datetime | None
-- When the longest-waiting due job became due.
SELECT min(greatest(events.at, jobs.scheduled_at))
FROM procrastinate_jobs AS jobs JOIN procrastinate_events AS events ON events.job_id = jobs.id AND events.type = 'deferred'
WHERE jobs.status = 'todo' AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now());

-- name: count_run(task_name, tick)
-- columns: status str, jobs int
-- The jobs of one run of a schedule by state. Of each shard, which its lock names, the newest job counts, because it is
-- the last retry. A waiting or running job of an earlier run counts too, because this run made no second job for that
-- shard.
SELECT status::text AS status, count(*) AS jobs
FROM (
  SELECT DISTINCT ON (lock) lock, status FROM procrastinate_jobs
  WHERE task_name = :task_name AND (args ->> 'timestamp' = CAST(:tick AS text) OR status IN ('todo', 'doing'))
  ORDER BY lock, id DESC
) AS newest
GROUP BY 1;

-- name: run_began_at(task_name, tick)$
-- returns: datetime | None
-- When the job of one run of a schedule last began, possibly long after the tick.
SELECT max(events.at)
FROM procrastinate_periodic_defers AS ticks JOIN procrastinate_events AS events ON events.job_id = ticks.job_id
WHERE ticks.task_name = :task_name AND ticks.defer_timestamp = CAST(:tick AS bigint) AND events.type = 'started';

-- name: list_failures(limit)
-- The latest failed jobs, with their errors.
SELECT jobs.id, jobs.task_name, jobs.args, jobs.attempts, outcomes.error, outcomes.ended_at
FROM procrastinate_jobs AS jobs LEFT JOIN job_outcomes AS outcomes ON outcomes.job_id = jobs.id
WHERE jobs.status = 'failed'
ORDER BY jobs.id DESC LIMIT :limit;
