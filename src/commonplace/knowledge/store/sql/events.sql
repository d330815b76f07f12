-- name: record_event(event_type, payload)$
-- returns: UUID
-- Insert an event; the default of the column actor is the actor of the transaction.
INSERT INTO memory_events (tenant_id, event_type, payload)
VALUES (current_setting('commonplace.tenant_id'), :event_type, CAST(:payload AS jsonb))
RETURNING id;

-- name: newest_event_at()$
-- returns: datetime | None
-- The time of the tenant's latest event.
SELECT max(created_at) FROM memory_events WHERE tenant_id = current_setting('commonplace.tenant_id');
