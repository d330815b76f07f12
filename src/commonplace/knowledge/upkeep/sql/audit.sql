-- The audit stream, read. What is about one memory or of one run has statements of its own, so that each is planned for
-- its index.

-- name: list_events(event_type, actor, since, until, limit, offset)
-- Entries, the latest first; of one type, by one actor or of a span of time where that is given.
SELECT id, event_type, actor, payload, created_at FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND (CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: events_about(about, event_type, actor, since, until, limit, offset)
-- Entries about one memory or entity, a merge from either side, the latest first; of one type, actor or span likewise.
SELECT id, event_type, actor, payload, created_at FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND (about_id = :about OR merged_into_id = :about)
  AND (CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: events_of_run(run_id, event_type, actor, since, until, limit, offset)
-- Entries that a run of consolidation caused, the latest first; of one type, actor or span likewise.
SELECT id, event_type, actor, payload, created_at FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND run_id = :run_id
  AND (CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: get_event(id)^
-- One entry.
SELECT id, event_type, actor, payload, created_at FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;
