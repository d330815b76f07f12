"""One model at a time makes the vectors that are compared, and memories can be moved to another (KNW-31.2).

A memory has room for a second vector, in which the next model's is prepared while the first is searched. Whatever
program stores a memory: the database takes vectors of the active model only. Two models' vectors have nothing to do
with each other, and nobody would notice but by bad results.
"""

from alembic import op

revision = "mem_011"
down_revision = "mem_010"
branch_labels = None
depends_on = None

TABLES = ("episodes", "facts", "rules")

ACTIVE = (
    (
        "ALTER TABLE embedding_versions ADD COLUMN active BOOLEAN NOT NULL DEFAULT false,"
        " ADD COLUMN activated_at TIMESTAMPTZ"
    ),
    "CREATE UNIQUE INDEX uq_embedding_versions_active ON embedding_versions (active) WHERE active",
)

# Until now nothing kept two models apart: the one that made most vectors is the one that searches are right with.
CHOOSE_ACTIVE = """
WITH used AS (
    SELECT embedding_model, embedding_version FROM episodes
    UNION ALL SELECT embedding_model, embedding_version FROM facts
    UNION ALL SELECT embedding_model, embedding_version FROM rules
),
chosen AS (
    SELECT v.model, v.version FROM embedding_versions AS v
    LEFT JOIN used ON used.embedding_model = v.model AND used.embedding_version = v.version
    GROUP BY v.model, v.version, v.created_at
    ORDER BY count(used.embedding_model) DESC, v.created_at DESC, v.model, v.version
    LIMIT 1
)
UPDATE embedding_versions AS v SET active = true, activated_at = v.created_at
FROM chosen WHERE v.model = chosen.model AND v.version = chosen.version
"""

FIRST_MODEL = """
CREATE FUNCTION commonplace_first_model() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM embedding_versions WHERE active) THEN
        NEW.active = true;
        NEW.activated_at = now();
    END IF;
    RETURN NEW;
END
$$
"""

FIRST_MODEL_IS_ACTIVE = """
CREATE TRIGGER embedding_versions_first BEFORE INSERT ON embedding_versions
FOR EACH ROW EXECUTE FUNCTION commonplace_first_model()
"""

# A switch of models excludes whoever writes. So what is active is read here, in a statement of its own: the statement
# that stores may have waited for the switch, and looks at the database as it was before. Versions are hashes of the
# weights; a model's name may be a directory, and another on the next machine.
REQUIRE_MODEL = """
CREATE FUNCTION commonplace_require_model(found_model text, found_version text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    active_model text;
    active_version text;
BEGIN
    SELECT model, version INTO active_model, active_version FROM embedding_versions WHERE active;
    IF NOT FOUND THEN
        RETURN;  -- The first model is being registered by the very statement that stores.
    END IF;
    IF found_version IS DISTINCT FROM active_version THEN
        RAISE EXCEPTION USING
            ERRCODE = 'check_violation',
            CONSTRAINT = 'embedding_model_active',
            MESSAGE = format(
                'the vectors of the memories are made by %s, version %s, and these by %s, version %s',
                active_model, active_version, found_model, found_version
            );
    END IF;
END
$$
"""

# Rows that name no model are of a time before models were named; nothing can be said of them.
CHECK_ARRIVED = """
CREATE FUNCTION commonplace_check_arrived_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM commonplace_require_model(embedding_model, embedding_version)
    FROM (SELECT DISTINCT embedding_model, embedding_version FROM arrived WHERE embedding_model IS NOT NULL) AS used;
    RETURN NULL;
END
$$
"""

# The second vector is of the text before.
CHECK_CHANGED = """
CREATE FUNCTION commonplace_check_changed_vector() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.embedding_model IS NOT NULL THEN
        PERFORM commonplace_require_model(NEW.embedding_model, NEW.embedding_version);
    END IF;
    NEW.next_embedding = NULL;
    NEW.next_embedding_model = NULL;
    NEW.next_embedding_version = NULL;
    RETURN NEW;
END
$$
"""

# One row for each move to another model; of no tenant, as the models are.
REEMBEDDINGS = """
CREATE TABLE reembeddings (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    model TEXT NOT NULL,
    version TEXT NOT NULL,
    replaces_model TEXT NOT NULL,
    replaces_version TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'running',
    step TEXT NOT NULL DEFAULT 'embedding',
    done BIGINT NOT NULL DEFAULT 0,
    total BIGINT NOT NULL DEFAULT 0,
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    ended_at TIMESTAMPTZ,
    CONSTRAINT pk_reembeddings PRIMARY KEY (id),
    CONSTRAINT ck_reembeddings_state CHECK (state IN ('running', 'switched', 'aborted')),
    CONSTRAINT ck_reembeddings_step CHECK (step IN ('embedding', 'indexing', 'switching')),
    CONSTRAINT ck_reembeddings_ended CHECK ((state = 'running') = (ended_at IS NULL))
)
"""

ONE_AT_A_TIME = "CREATE UNIQUE INDEX uq_reembeddings_running ON reembeddings (state) WHERE state = 'running'"


def upgrade() -> None:
    """Name the active model, make room for a second vector, and keep other models' vectors out."""
    for statement in (*ACTIVE, REEMBEDDINGS, ONE_AT_A_TIME):
        op.execute(statement)
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(CHOOSE_ACTIVE)
    for statement in (FIRST_MODEL, FIRST_MODEL_IS_ACTIVE, REQUIRE_MODEL, CHECK_ARRIVED, CHECK_CHANGED):
        op.execute(statement)
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN next_embedding vector(384), ADD COLUMN next_embedding_model TEXT,"
            " ADD COLUMN next_embedding_version TEXT"
        )
        op.execute(
            f"CREATE TRIGGER {table}_vectors_arrived AFTER INSERT ON {table} REFERENCING NEW TABLE AS arrived"
            " FOR EACH STATEMENT EXECUTE FUNCTION commonplace_check_arrived_vectors()"
        )
        op.execute(
            f"CREATE TRIGGER {table}_vector_changed BEFORE UPDATE OF embedding ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION commonplace_check_changed_vector()"
        )


def downgrade() -> None:
    """Drop the second vector and what tells models apart; the vectors in use stay."""
    for function in (
        "check_changed_vector()",
        "check_arrived_vectors()",
        "require_model(text, text)",
        "first_model()",
    ):
        op.execute(f"DROP FUNCTION commonplace_{function} CASCADE")
    for table in TABLES:
        op.execute(
            f"ALTER TABLE {table} DROP COLUMN next_embedding, DROP COLUMN next_embedding_model,"
            " DROP COLUMN next_embedding_version"
        )
    op.drop_table("reembeddings")
    op.execute("DROP INDEX uq_embedding_versions_active")
    op.execute("ALTER TABLE embedding_versions DROP COLUMN active, DROP COLUMN activated_at")
