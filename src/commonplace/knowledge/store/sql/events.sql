-- name: record_event(event_type, payload)$
-- returns: UUID
-- Insert an event; the default of the column actor is the actor of the transaction.
INSERT INTO memory_events (tenant_id, event_type, payload)
VALUES (current_setting('commonplace.tenant_id'), :event_type, CAST(:payload AS jsonb))
RETURNING id;

-- name: record_events(rows)!
-- Insert events in their order; the default of the column actor is the actor of the transaction.
INSERT INTO memory_events (tenant_id, event_type, payload)
SELECT current_setting('commonplace.tenant_id'), value ->> 'event_type', value -> 'payload'
FROM jsonb_array_elements(CAST(:rows AS jsonb)) WITH ORDINALITY ORDER BY ordinality;

-- name: newest_event_at()$
-- returns: datetime | None
-- The time of the tenant's latest event.
SELECT max(created_at) FROM memory_events WHERE tenant_id = current_setting('commonplace.tenant_id');
