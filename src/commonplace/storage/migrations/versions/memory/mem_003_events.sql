CREATE TABLE memory_events (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    event_type TEXT NOT NULL,
    actor TEXT,
    tenant_id TEXT,
    payload JSONB NOT NULL DEFAULT '{}'::jsonb,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_memory_events PRIMARY KEY (id)
);

CREATE INDEX idx_memory_events_type ON memory_events (event_type, created_at DESC);
CREATE INDEX idx_memory_events_tenant ON memory_events (tenant_id, created_at DESC);
