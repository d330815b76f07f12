-- name: record_event(event_type, payload)$
-- Adds an entry to the audit stream; its actor is the column's default, which is who the transaction runs for.
INSERT INTO memory_events (tenant_id, event_type, payload)
VALUES (current_setting('commonplace.tenant_id'), :event_type, CAST(:payload AS jsonb))
RETURNING id;
