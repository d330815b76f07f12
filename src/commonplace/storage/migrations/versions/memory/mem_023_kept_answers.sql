CREATE TABLE kept_answers (
    tenant_id TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    claim UUID NOT NULL,
    claimed_until TIMESTAMPTZ NOT NULL,
    applied_at TIMESTAMPTZ,
    status INTEGER,
    media_type TEXT NOT NULL DEFAULT '',
    location TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL DEFAULT '',
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_kept_answers PRIMARY KEY (tenant_id, key),
    CONSTRAINT ck_kept_answers_tenant CHECK (tenant_id <> '')
);

CREATE INDEX idx_kept_answers_expires ON kept_answers (tenant_id, expires_at);
CREATE POLICY kept_answers_tenant ON kept_answers
    USING (tenant_id = current_setting('commonplace.tenant_id', true))
    WITH CHECK (tenant_id = current_setting('commonplace.tenant_id', true));
ALTER TABLE kept_answers ENABLE ROW LEVEL SECURITY;
ALTER TABLE kept_answers FORCE ROW LEVEL SECURITY;
