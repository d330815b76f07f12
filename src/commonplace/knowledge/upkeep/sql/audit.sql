-- Reading the audit trail. Events about one memory and events of one run have their own statements, so that the planner
-- uses their indexes.

-- name: list_events(event_type, event_types, actor, since, until, limit, offset)
-- Events, the latest first. Type, actor and time span are optional filters.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND (CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:event_types AS text[]) IS NULL OR event_type = ANY(:event_types))
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: events_about(about, event_type, event_types, actor, since, until, limit, offset)
-- Events about one memory or entity, including merges from either side, the latest first. Same filters as list_events.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND (about_id = :about OR merged_into_id = :about)
  AND (CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:event_types AS text[]) IS NULL OR event_type = ANY(:event_types))
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: events_of_run(run_id, event_type, event_types, actor, since, until, limit, offset)
-- Events that one consolidation run caused, the latest first. Same filters as list_events.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND run_id = :run_id
  AND (CAST(:event_type AS text) IS NULL OR event_type = :event_type)
  AND (CAST(:event_types AS text[]) IS NULL OR event_type = ANY(:event_types))
  AND (CAST(:actor AS text) IS NULL OR actor = :actor)
  AND (CAST(:since AS timestamptz) IS NULL OR created_at >= :since)
  AND (CAST(:until AS timestamptz) IS NULL OR created_at <= :until)
ORDER BY created_at DESC, id
LIMIT :limit OFFSET :offset;

-- name: get_event(id)^
-- One event.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: latest_event()^
-- The latest event of the tenant.
SELECT id, created_at FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY created_at DESC
LIMIT 1;
