-- Outcomes of jobs and names of workers, which Procrastinate does not store.

CREATE TABLE job_outcomes (
    job_id BIGINT NOT NULL,
    result JSONB,
    error TEXT,
    ended_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_job_outcomes PRIMARY KEY (job_id),
    CONSTRAINT fk_job_outcomes_job FOREIGN KEY (job_id) REFERENCES procrastinate_jobs (id) ON DELETE CASCADE
);

CREATE TABLE worker_details (
    worker_id BIGINT NOT NULL,
    name TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_worker_details PRIMARY KEY (worker_id),
    CONSTRAINT fk_worker_details_worker
        FOREIGN KEY (worker_id) REFERENCES procrastinate_workers (id) ON DELETE CASCADE
);

-- The jobs of one run of a schedule.
CREATE INDEX idx_jobs_task_timestamp ON procrastinate_jobs (task_name, ((args ->> 'timestamp')));
