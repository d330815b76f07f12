"""What a row may hold, checked by the database too, and the two formulas that statements share."""

from alembic import op

revision = "mem_007"
down_revision = "mem_006"
branch_labels = None
depends_on = None

# Both columns say the same thing, and did not always (R-KNW-4). An older program may have invented a status.
SAME_STATUS = """
UPDATE episodes SET consolidation_status = CASE
    WHEN consolidated THEN 'consolidated'
    WHEN consolidation_status IN ('failed', 'dead_letter') THEN consolidation_status
    ELSE 'pending'
END
WHERE consolidated <> (consolidation_status = 'consolidated')
    OR consolidation_status NOT IN ('pending', 'consolidated', 'failed', 'dead_letter')
"""

CHECKS = {
    "episodes": {
        "status": "consolidation_status IN ('pending', 'consolidated', 'failed', 'dead_letter')",
        "consolidated": "consolidated = (consolidation_status = 'consolidated')",
    },
    "facts": {
        "validity": "validity IN ('active', 'superseded', 'expired', 'retracted')",
        "permanence": "permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral')",
        "confidence": "confidence BETWEEN 0.0 AND 1.0",
        "tags": "jsonb_typeof(tags) = 'array'",
        "metadata": "jsonb_typeof(metadata) = 'object'",
    },
    "rules": {
        "maturity": "maturity IN ('candidate', 'established', 'proven', 'anti_pattern')",
        "confidence": "confidence BETWEEN 0.0 AND 1.0",
        "tags": "jsonb_typeof(tags) = 'array'",
        "metadata": "jsonb_typeof(metadata) = 'object'",
    },
    "memory_links": {
        "types": "source_type IN ('episode', 'fact', 'rule') AND target_type IN ('episode', 'fact', 'rule')",
    },
}

# A vector of words may not exceed 1 MiB, and a text of that length with few repeated words makes a longer one.
SEARCH_VECTOR = """
CREATE FUNCTION commonplace_search_vector(words text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL UNSAFE AS $$
BEGIN
    WHILE octet_length(words) > 200000 LOOP
        BEGIN
            RETURN to_tsvector('pg_catalog.english', words);
        EXCEPTION WHEN program_limit_exceeded THEN
            words = left(words, length(words) / 2);
        END;
    END LOOP;
    RETURN to_tsvector('pg_catalog.english', words);
END
$$
"""

# exp() of less than -745 is an error in PostgreSQL, not zero.
EFFECTIVE_CONFIDENCE = """
CREATE FUNCTION commonplace_effective_confidence(
    confidence double precision, decay_rate double precision, confirmed_at timestamptz, moment timestamptz
) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN decay_rate = 0.0 THEN confidence ELSE confidence * exp(-least(700.0,
        decay_rate * greatest(0.0, extract(epoch FROM moment - confirmed_at)::double precision / 86400.0)
    )) END
$$
"""


def upgrade() -> None:
    """Make the rows fit, then check them from now on."""
    for table in CHECKS:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(SAME_STATUS)
    for table, checks in CHECKS.items():
        for name, condition in checks.items():
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_{name} CHECK ({condition})")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(SEARCH_VECTOR)
    op.execute(EFFECTIVE_CONFIDENCE)


def downgrade() -> None:
    """Drop functions and checks."""
    op.execute("DROP FUNCTION commonplace_effective_confidence")
    op.execute("DROP FUNCTION commonplace_search_vector")
    for table, checks in CHECKS.items():
        for name in checks:
            op.execute(f"ALTER TABLE {table} DROP CONSTRAINT ck_{table}_{name}")
