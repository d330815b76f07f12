-- What an operator sees.

-- name: has_queue()$
-- Whether a worker ever ran here.
SELECT to_regclass('procrastinate.worker_details') IS NOT NULL;

-- name: list_workers()
-- Workers that are registered, the oldest first, with what they do and how long ago they were heard of.
SELECT
  workers.id, coalesce(details.name, 'unknown') AS name, coalesce(details.concurrency, 0) AS concurrency,
  details.started_at, workers.last_heartbeat AS heard_at,
  extract(epoch FROM now() - workers.last_heartbeat)::double precision AS silent_s,
  (SELECT count(*) FROM procrastinate_jobs WHERE worker_id = workers.id AND status = 'doing') AS doing
FROM procrastinate_workers AS workers LEFT JOIN worker_details AS details ON details.worker_id = workers.id
ORDER BY workers.id;

-- name: count_jobs()
-- Jobs by task and state.
SELECT task_name, status::text AS status, count(*) AS jobs FROM procrastinate_jobs GROUP BY 1, 2 ORDER BY 1, 2;

-- name: oldest_waiting_at()$
-- Since when the job has waited that is due and waits longest.
SELECT min(greatest(events.at, jobs.scheduled_at))
FROM procrastinate_jobs AS jobs JOIN procrastinate_events AS events ON events.job_id = jobs.id AND events.type = 'deferred'
WHERE jobs.status = 'todo' AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now());

-- name: count_run(task_name, tick)
-- What became of one run of a schedule, by state: of each shard, which its lock names, the newest job counts, since it
-- is what tried again after the others. What an earlier run left waiting or under way is this one's too, as it made no
-- second job for that shard.
SELECT status::text AS status, count(*) AS jobs
FROM (
  SELECT DISTINCT ON (lock) lock, status FROM procrastinate_jobs
  WHERE task_name = :task_name AND (args ->> 'timestamp' = CAST(:tick AS text) OR status IN ('todo', 'doing'))
  ORDER BY lock, id DESC
) AS newest
GROUP BY 1;

-- name: run_began_at(task_name, tick)$
-- When the job of one run of a schedule began, the last time that it did; the tick may have been long before.
SELECT max(events.at)
FROM procrastinate_periodic_defers AS ticks JOIN procrastinate_events AS events ON events.job_id = ticks.job_id
WHERE ticks.task_name = :task_name AND ticks.defer_timestamp = CAST(:tick AS bigint) AND events.type = 'started';

-- name: list_failures(limit)
-- The jobs that failed last, with their errors.
SELECT jobs.id, jobs.task_name, jobs.args, jobs.attempts, outcomes.error, outcomes.ended_at
FROM procrastinate_jobs AS jobs LEFT JOIN job_outcomes AS outcomes ON outcomes.job_id = jobs.id
WHERE jobs.status = 'failed'
ORDER BY jobs.id DESC LIMIT :limit;
