"""Sources of memories, the trust in them, and flags of texts that look like instructions."""

from alembic import op

revision = "mem_021"
down_revision = "mem_020"
branch_labels = None
depends_on = None

# The order of commonplace.core.sources, the least trusted first.
SOURCES = ("web", "tool", "document", "import", "agent", "person")
LIST = ", ".join(f"'{source}'" for source in SOURCES)

STATEMENTS = (
    f"""
CREATE FUNCTION commonplace_trust(source text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_position(ARRAY[{LIST}], source)
$$
""",
    # An unset source is that of an agent.
    """
CREATE FUNCTION commonplace_source() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(nullif(current_setting('commonplace.source', true), ''), 'agent')
$$
""",
    """
CREATE FUNCTION commonplace_weaker(source text, other text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN commonplace_trust(other) < commonplace_trust(source) THEN other ELSE source END
$$
""",
    *(
        f"""
ALTER TABLE {table}
    ADD COLUMN source TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN trust TEXT NOT NULL DEFAULT commonplace_source(),
    ADD COLUMN flags JSONB NOT NULL DEFAULT '[]',
    ADD CONSTRAINT ck_{table}_source CHECK (source IN ({LIST})),
    ADD CONSTRAINT ck_{table}_trust CHECK (trust IN ({LIST})),
    ADD CONSTRAINT ck_{table}_flags CHECK (jsonb_typeof(flags) = 'array')
"""
        for table in ("episodes", "facts", "rules")
    ),
    # A fact that contradicts a more trusted one is held until a person decides.
    "ALTER TABLE facts DROP CONSTRAINT ck_facts_validity",
    """
ALTER TABLE facts ADD CONSTRAINT ck_facts_validity
    CHECK (validity IN ('active', 'superseded', 'expired', 'retracted', 'held'))
""",
    "CREATE INDEX idx_facts_held ON facts (tenant_id, created_at) WHERE validity = 'held'",
    *(
        f"CREATE INDEX idx_{table}_flagged ON {table} (tenant_id, created_at) WHERE flags <> '[]'"
        for table in ("facts", "rules")
    ),
)


def upgrade() -> None:
    """Add the functions, the columns and the state of a held fact."""
    for statement in STATEMENTS:
        op.execute(statement)
