-- Reading the audit trail. Events about one memory and events of one run have their own statements, so that the planner
-- uses their indexes.

-- name: list_events(event_type, event_types, actor, since, until, limit, offset)
-- Events, the latest first.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id')
  AND ${events_page};

-- name: events_about(about, event_type, event_types, actor, since, until, limit, offset)
-- Events about one memory or entity, including merges from either side, the latest first.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND (about_id = :about OR merged_into_id = :about)
  AND ${events_page};

-- name: events_of_run(run_id, event_type, event_types, actor, since, until, limit, offset)
-- Events that one consolidation run caused, the latest first.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND run_id = :run_id
  AND ${events_page};

-- name: get_event(id)^
-- One event.
SELECT * FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id') AND id = :id;

-- name: latest_event()^
-- columns: id UUID
-- The latest event of the tenant.
SELECT id, created_at FROM memory_events
WHERE tenant_id = current_setting('commonplace.tenant_id')
ORDER BY created_at DESC
LIMIT 1;
