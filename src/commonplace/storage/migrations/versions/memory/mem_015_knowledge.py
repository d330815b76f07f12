"""The rest of knowledge memory: tenants, history, vectors, words, consolidation and re-embedding.

Every row belongs to a tenant, and row-level security hides it from the others (KNW-29, R-KNW-12). References go over
``(tenant_id, id)``, because checks of foreign keys see all rows: a plain reference to a guessed id of another tenant
would be accepted.

Row-level security allows an index only for conditions that cannot leak the rows that they test. Equality of texts and
numbers is one, ``search_vector @@ …`` and expressions on JSON are not. So the words of each memory are rows of their
own (KNW-07, R-KNW-6), and what an event is about is in columns.

Revisions ``mem_004`` to ``mem_014`` belong to development versions; this one creates what they created.
"""

from collections.abc import Iterator
from string import Template

from alembic import op

revision = "mem_015"
down_revision = "mem_003"
branch_labels = None
depends_on = None

MEMORIES = ("episodes", "facts", "rules")
OLDER_TABLES = (*MEMORIES, "memory_links", "entities", "memory_events")
TENANT_TABLES = (
    *OLDER_TABLES,
    "rule_applications",
    "episode_words",
    "fact_words",
    "rule_words",
    "consolidation_runs",
    "consolidation_actions",
)

OWN_ROWS = "tenant_id = current_setting('commonplace.tenant_id', true)"
NO_TENANT = "nullif(current_setting('commonplace.tenant_id', true), '') IS NULL"
# The unit of work sets the actor beside the tenant, so that no statement can forget it.
ACTOR = "nullif(current_setting('commonplace.actor', true), '')"

# Reading a memory counts a reference on its row. With room for the new version on the same page, no index is written:
# measured on 2,000 facts, 497 of 500 such updates stay on their page (147 before), in less than a third of the time.
FILL_PERCENT = 75

COLUMNS = (
    *(
        f"ALTER TABLE {table} ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default',"
        " ADD COLUMN embedding_model TEXT, ADD COLUMN embedding_version TEXT"
        for table in MEMORIES
    ),
    "ALTER TABLE memory_links ADD COLUMN tenant_id TEXT NOT NULL DEFAULT 'default'",
    # Turns of one session may share a moment; the order of insertion tells them apart. A leased episode stays pending
    # or failed.
    """
ALTER TABLE episodes
    ADD COLUMN insertion_order BIGINT GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN leased_by TEXT,
    ADD COLUMN leased_until TIMESTAMPTZ,
    ADD COLUMN lease_run UUID,
    ADD COLUMN next_attempt_at TIMESTAMPTZ
""",
    # Room for the vector of the next model, which is prepared while the active model's is searched.
    *(
        f"ALTER TABLE {table} ADD COLUMN next_embedding vector(384), ADD COLUMN next_embedding_model TEXT,"
        " ADD COLUMN next_embedding_version TEXT"
        for table in MEMORIES
    ),
    # The names of an entity as they are searched, folded (KNW-17, R-KNW-10); null until they are folded.
    "ALTER TABLE entities ALTER COLUMN tenant_id SET DEFAULT 'default', ADD COLUMN name_keys TEXT",
    "UPDATE memory_events SET tenant_id = 'default' WHERE tenant_id IS NULL",
    f"""
ALTER TABLE memory_events
    ALTER COLUMN tenant_id SET DEFAULT 'default',
    ALTER COLUMN tenant_id SET NOT NULL,
    ALTER COLUMN actor SET DEFAULT {ACTOR},
    ADD COLUMN about_id TEXT GENERATED ALWAYS AS (
        coalesce(payload ->> 'memory_id', payload ->> 'entity_id', payload ->> 'source_entity_id')
    ) STORED,
    ADD COLUMN merged_into_id TEXT GENERATED ALWAYS AS (payload ->> 'target_entity_id') STORED,
    ADD COLUMN run_id TEXT GENERATED ALWAYS AS (payload ->> 'run_id') STORED
""",
    *(f"ALTER TABLE {table} SET (fillfactor = {FILL_PERCENT})" for table in MEMORIES),
)

# Rows of the older schema: a memory belongs to the tenant of its entity, if it has one. A reference that would then
# cross tenants is dropped. An episode's two columns of state must agree (R-KNW-4).
OLDER_ROWS = (
    "UPDATE facts SET tenant_id = e.tenant_id FROM entities AS e WHERE e.id = facts.entity_id",
    """
UPDATE episodes SET tenant_id = f.tenant_id
FROM facts AS f WHERE f.source_episode_id = episodes.id AND f.entity_id IS NOT NULL
""",
    "UPDATE memory_links SET tenant_id = f.tenant_id FROM facts AS f WHERE f.id = memory_links.source_id",
    """
UPDATE facts SET source_episode_id = NULL
FROM episodes AS e WHERE e.id = facts.source_episode_id AND e.tenant_id <> facts.tenant_id
""",
    """
UPDATE facts SET supersedes_id = NULL
FROM facts AS old WHERE old.id = facts.supersedes_id AND old.tenant_id <> facts.tenant_id
""",
    """
UPDATE rules SET source_episode_id = NULL
FROM episodes AS e WHERE e.id = rules.source_episode_id AND e.tenant_id <> rules.tenant_id
""",
    """
UPDATE episodes SET consolidation_status = CASE
    WHEN consolidated THEN 'consolidated'
    WHEN consolidation_status IN ('failed', 'dead_letter') THEN consolidation_status
    ELSE 'pending'
END
WHERE consolidated <> (consolidation_status = 'consolidated')
    OR consolidation_status NOT IN ('pending', 'consolidated', 'failed', 'dead_letter')
""",
)

CONFIDENCE = "confidence BETWEEN 0.0 AND 1.0"
TAGS = "jsonb_typeof(tags) = 'array'"
METADATA = "jsonb_typeof(metadata) = 'object'"
CHECKS = {
    "episodes": {
        "status": "consolidation_status IN ('pending', 'consolidated', 'failed', 'dead_letter')",
        "consolidated": "consolidated = (consolidation_status = 'consolidated')",
        "lease": "(lease_run IS NULL) = (leased_until IS NULL) AND (lease_run IS NULL) = (leased_by IS NULL)",
    },
    "facts": {
        "validity": "validity IN ('active', 'superseded', 'expired', 'retracted')",
        "permanence": "permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral')",
        "confidence": CONFIDENCE,
        "tags": TAGS,
        "metadata": METADATA,
    },
    "rules": {
        "maturity": "maturity IN ('candidate', 'established', 'proven', 'anti_pattern')",
        "confidence": CONFIDENCE,
        "tags": TAGS,
        "metadata": METADATA,
    },
    "memory_links": {
        "types": "source_type IN ('episode', 'fact', 'rule') AND target_type IN ('episode', 'fact', 'rule')",
    },
}

REFERENCES = (
    ("facts", "source_episode", "source_episode_id", "episodes", "SET NULL (source_episode_id)"),
    ("facts", "supersedes", "supersedes_id", "facts", "SET NULL (supersedes_id)"),
    ("facts", "entity", "entity_id", "entities", "RESTRICT"),
    ("rules", "source_episode", "source_episode_id", "episodes", "SET NULL (source_episode_id)"),
)

REBUILT_INDEXES = {
    "idx_episodes_butler_created": "episodes (tenant_id, butler, created_at DESC)",
    "idx_episodes_expires": "episodes (tenant_id, expires_at) WHERE expires_at IS NOT NULL",
    "idx_episodes_pending": (
        "episodes (tenant_id, butler, created_at) WHERE consolidation_status = 'pending'"
    ),
    "idx_facts_scope_validity": "facts (tenant_id, scope, validity) WHERE validity = 'active'",
    "idx_facts_subject_predicate": "facts (tenant_id, subject, predicate)",
    "idx_rules_scope_maturity": "rules (tenant_id, scope, maturity)",
    "idx_memory_events_type": "memory_events (tenant_id, event_type, created_at DESC)",
    "uq_facts_entity_scope_predicate": (
        "facts (tenant_id, entity_id, scope, predicate) WHERE entity_id IS NOT NULL AND validity = 'active'"
    ),
    "uq_facts_scope_subject_predicate": (
        "facts (tenant_id, scope, subject, predicate) WHERE entity_id IS NULL AND validity = 'active'"
    ),
}

# A thin graph of half-precision vectors: ADR 0010 has the measurements (KNW-31.1). Searches ask for active facts only
# (KNW-09.3, KNW-32.1), and every version of a row in the graph costs ten times the rest: expiring 10,000 of 200,000
# facts took 15.4 s with all facts in it, and 1.3 s with the active ones.
VECTOR_INDEX = "hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) WITH (m = 12, ef_construction = 32)"
ACTIVE_ONLY = {"facts": " WHERE validity = 'active'"}

NEW_INDEXES = {
    **{f"idx_{table}_listed": f"{table} (tenant_id, created_at DESC, id)" for table in MEMORIES},
    # Without these, each deletion of an episode would read all facts and rules.
    "idx_facts_source_episode": "facts (tenant_id, source_episode_id) WHERE source_episode_id IS NOT NULL",
    "idx_facts_supersedes": "facts (tenant_id, supersedes_id) WHERE supersedes_id IS NOT NULL",
    "idx_facts_entity": "facts (tenant_id, entity_id) WHERE entity_id IS NOT NULL",
    "idx_rules_source_episode": "rules (tenant_id, source_episode_id) WHERE source_episode_id IS NOT NULL",
    "idx_entities_unfolded": "entities (tenant_id) WHERE name_keys IS NULL",
    "idx_episodes_session": (
        "episodes (tenant_id, session_id, created_at, insertion_order) WHERE session_id IS NOT NULL"
    ),
    "idx_episodes_due": (
        "episodes (tenant_id, butler, created_at, insertion_order)"
        " WHERE consolidation_status IN ('pending', 'failed')"
    ),
    "idx_episodes_lease_run": "episodes (tenant_id, lease_run) WHERE lease_run IS NOT NULL",
    "idx_episodes_dead_letter": (
        "episodes (tenant_id, butler, created_at, insertion_order) WHERE consolidation_status = 'dead_letter'"
    ),
    "idx_memory_events_about": "memory_events (tenant_id, about_id) WHERE about_id IS NOT NULL",
    "idx_memory_events_merged": "memory_events (tenant_id, merged_into_id) WHERE merged_into_id IS NOT NULL",
    "idx_memory_events_run": "memory_events (tenant_id, run_id) WHERE run_id IS NOT NULL",
    "idx_rule_applications_rule": "rule_applications (tenant_id, rule_id, applied_at DESC)",
    # Two runs never work on one butler's episodes at once, whatever a program does.
    "uq_consolidation_runs_running": "consolidation_runs (tenant_id, butler) WHERE state = 'running'",
    "idx_consolidation_runs_started": "consolidation_runs (tenant_id, started_at DESC)",
    "idx_consolidation_actions_memory": "consolidation_actions (tenant_id, memory_id)",
    "uq_embedding_versions_active": "embedding_versions (active) WHERE active",
    "uq_reembeddings_running": "reembeddings (state) WHERE state = 'running'",
}

TABLES = (
    # Applications of rules (KNW-33).
    f"""
CREATE TABLE rule_applications (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    tenant_id TEXT NOT NULL DEFAULT 'default',
    rule_id UUID NOT NULL,
    outcome TEXT NOT NULL,
    reason TEXT,
    actor TEXT DEFAULT {ACTOR},
    applied_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    context JSONB NOT NULL DEFAULT '{{}}'::jsonb,
    CONSTRAINT pk_rule_applications PRIMARY KEY (id),
    CONSTRAINT ck_rule_applications_outcome CHECK (outcome IN ('helpful', 'harmful')),
    CONSTRAINT fk_rule_applications_rule
        FOREIGN KEY (tenant_id, rule_id) REFERENCES rules (tenant_id, id) ON DELETE CASCADE
)
""",
    # A run is one answer of a model to one group of episodes, and one unit in the audit stream (KNW-12, KNW-14).
    """
CREATE TABLE consolidation_runs (
    id UUID NOT NULL DEFAULT gen_random_uuid(),
    tenant_id TEXT NOT NULL DEFAULT 'default',
    butler TEXT NOT NULL,
    worker TEXT NOT NULL,
    model TEXT,
    state TEXT NOT NULL DEFAULT 'running',
    started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    leased_until TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    episode_ids UUID[] NOT NULL,
    facts_created INTEGER NOT NULL DEFAULT 0,
    facts_updated INTEGER NOT NULL DEFAULT 0,
    facts_confirmed INTEGER NOT NULL DEFAULT 0,
    rules_created INTEGER NOT NULL DEFAULT 0,
    rules_confirmed INTEGER NOT NULL DEFAULT 0,
    errors JSONB NOT NULL DEFAULT '[]'::jsonb,
    undone_at TIMESTAMPTZ,
    undone_by TEXT,
    CONSTRAINT pk_consolidation_runs PRIMARY KEY (id),
    CONSTRAINT uq_consolidation_runs_tenant_id UNIQUE (tenant_id, id),
    CONSTRAINT ck_consolidation_runs_state CHECK (state IN ('running', 'applied', 'failed', 'refused', 'undone')),
    CONSTRAINT ck_consolidation_runs_ended CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT ck_consolidation_runs_undone CHECK ((state = 'undone') = (undone_at IS NOT NULL)),
    CONSTRAINT ck_consolidation_runs_errors CHECK (jsonb_typeof(errors) = 'array')
)
""",
    # Undoing a run needs the superseded facts, and when the memory had last been confirmed.
    """
CREATE TABLE consolidation_actions (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    run_id UUID NOT NULL,
    position INTEGER NOT NULL,
    action TEXT NOT NULL,
    memory_id UUID NOT NULL,
    superseded_ids UUID[] NOT NULL DEFAULT '{}',
    confirmed_before TIMESTAMPTZ,
    confirmed_at TIMESTAMPTZ,
    CONSTRAINT pk_consolidation_actions PRIMARY KEY (tenant_id, run_id, position),
    CONSTRAINT ck_consolidation_actions_action CHECK (
        action IN ('fact_created', 'fact_updated', 'fact_confirmed', 'rule_created', 'rule_confirmed')
    ),
    CONSTRAINT fk_consolidation_actions_run
        FOREIGN KEY (tenant_id, run_id) REFERENCES consolidation_runs (tenant_id, id) ON DELETE CASCADE
)
""",
    # Models and moves between them belong to no tenant: whoever asks may know which there are (KNW-31).
    """
CREATE TABLE embedding_versions (
    model TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    active BOOLEAN NOT NULL DEFAULT false,
    activated_at TIMESTAMPTZ,
    CONSTRAINT pk_embedding_versions PRIMARY KEY (model, version)
)
""",
    """
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
""",
    # Work for all tenants has to know which there are, and reads this outside of any tenant's transaction.
    """
CREATE TABLE tenants (
    tenant_id TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    CONSTRAINT pk_tenants PRIMARY KEY (tenant_id)
)
""",
    """
INSERT INTO tenants (tenant_id)
SELECT tenant_id FROM episodes UNION SELECT tenant_id FROM facts UNION SELECT tenant_id FROM rules
""",
)

FUNCTIONS = (
    """
CREATE FUNCTION commonplace_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% only grows: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END
$$
""",
    # A vector of words may not exceed 1 MiB, and a text of that length with few repeated words makes a longer one.
    """
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
""",
    # exp() of less than -745 is an error in PostgreSQL, not zero.
    """
CREATE FUNCTION commonplace_effective_confidence(
    confidence double precision, decay_rate double precision, confirmed_at timestamptz, moment timestamptz
) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN decay_rate = 0.0 THEN confidence ELSE confidence * exp(-least(700.0,
        decay_rate * greatest(0.0, extract(epoch FROM moment - confirmed_at)::double precision / 86400.0)
    )) END
$$
""",
    # The transaction names its run, as it names its actor.
    """
CREATE FUNCTION commonplace_name_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.payload = NEW.payload || jsonb_build_object('run_id', current_setting('commonplace.run_id'));
    RETURN NEW;
END
$$
""",
    """
CREATE FUNCTION commonplace_note_tenants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO tenants (tenant_id) SELECT DISTINCT tenant_id FROM arrived ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$
""",
    """
CREATE FUNCTION commonplace_first_model() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM embedding_versions WHERE active) THEN
        NEW.active = true;
        NEW.activated_at = now();
    END IF;
    RETURN NEW;
END
$$
""",
    # Vectors of two models cannot be compared, so the database takes the active model's only (KNW-31.2). A switch of
    # models excludes writers. The active model is read here, in a statement of its own: the storing statement may have
    # waited for the switch, and sees the database as it was before. Versions are hashes of the weights; a model's name
    # may be a directory, and another on the next machine.
    """
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
""",
    # Rows that name no model are older than the names, and are not checked.
    """
CREATE FUNCTION commonplace_check_arrived_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM commonplace_require_model(embedding_model, embedding_version)
    FROM (SELECT DISTINCT embedding_model, embedding_version FROM arrived WHERE embedding_model IS NOT NULL) AS used;
    RETURN NULL;
END
$$
""",
    # The next model's vector is of the text before the change.
    """
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
""",
)

TRIGGERS = (
    """
CREATE TRIGGER memory_events_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON memory_events
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_refuse_change()
""",
    """
CREATE TRIGGER memory_events_run BEFORE INSERT ON memory_events FOR EACH ROW
WHEN (nullif(current_setting('commonplace.run_id', true), '') IS NOT NULL)
EXECUTE FUNCTION commonplace_name_run()
""",
    """
CREATE TRIGGER embedding_versions_first BEFORE INSERT ON embedding_versions
FOR EACH ROW EXECUTE FUNCTION commonplace_first_model()
""",
    *(
        f"CREATE TRIGGER {table}_{name} AFTER INSERT ON {table} REFERENCING NEW TABLE AS arrived"
        f" FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        for table in MEMORIES
        for name, function in (
            ("tenants_noted", "commonplace_note_tenants"),
            ("vectors_arrived", "commonplace_check_arrived_vectors"),
        )
    ),
    *(
        f"CREATE TRIGGER {table}_vector_changed BEFORE UPDATE OF embedding ON {table}"
        " FOR EACH ROW EXECUTE FUNCTION commonplace_check_changed_vector()"
        for table in MEMORIES
    ),
)

# Of each table of memories: its table of words, the column that is the scope, the condition under which a search may
# find the row, when its words expire, and the column whose change changes the words.
WORD_TABLES = (
    ("episodes", "episode_words", "butler", "true", "$row.expires_at", "expires_at"),
    ("facts", "fact_words", "scope", "$row.validity = 'active'", "NULL", "validity"),
    (
        "rules",
        "rule_words",
        "scope",
        "($row.metadata -> 'forgotten') IS DISTINCT FROM 'true'",
        "NULL",
        "metadata",
    ),
)

# Rows are added in the order of the index, so that neighbouring words are written to the same pages. Words longer than
# 200 bytes are debris (base64, keys), and an index row has room for 2,700 bytes. The triggers on arrivals and deletions
# run once for each statement. The trigger on changes runs for each row, because a trigger on some columns cannot see a
# statement's rows; its condition leaves out changes of other columns, such as counts of references.
WORDS = (
    """
CREATE TABLE $words (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    word TEXT COLLATE "C" NOT NULL,
    scope TEXT NOT NULL,
    memory_id UUID NOT NULL,
    expires_at TIMESTAMPTZ,
    CONSTRAINT pk_$words PRIMARY KEY (tenant_id, word, scope, memory_id) INCLUDE (expires_at)
)
""",
    """
INSERT INTO $words (tenant_id, word, scope, memory_id, expires_at)
SELECT arrived.tenant_id, given.word, arrived.$scope, arrived.id, $arrived_expires_at
FROM $memories AS arrived, unnest(tsvector_to_array(arrived.search_vector)) AS given (word)
WHERE octet_length(given.word) <= 200 AND $arrived_searchable
ORDER BY 1, 2, 3, 4
""",
    """
CREATE FUNCTION commonplace_keep_$words() RETURNS trigger LANGUAGE plpgsql AS $$$$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM $words
        WHERE tenant_id = OLD.tenant_id AND scope = OLD.$scope AND memory_id = OLD.id
          AND word = ANY (tsvector_to_array(OLD.search_vector));
    END IF;
    IF TG_OP <> 'DELETE' AND $new_searchable THEN
        INSERT INTO $words (tenant_id, word, scope, memory_id, expires_at)
        SELECT NEW.tenant_id, word, NEW.$scope, NEW.id, $new_expires_at
        FROM unnest(tsvector_to_array(NEW.search_vector)) AS word
        WHERE octet_length(word) <= 200;
    END IF;
    RETURN NULL;
END
$$$$
""",
    """
CREATE FUNCTION commonplace_add_$words() RETURNS trigger LANGUAGE plpgsql AS $$$$
BEGIN
    INSERT INTO $words (tenant_id, word, scope, memory_id, expires_at)
    SELECT arrived.tenant_id, given.word, arrived.$scope, arrived.id, $arrived_expires_at
    FROM arrived, unnest(tsvector_to_array(arrived.search_vector)) AS given (word)
    WHERE octet_length(given.word) <= 200 AND $arrived_searchable
    ORDER BY 1, 2, 3, 4;
    RETURN NULL;
END
$$$$
""",
    """
CREATE FUNCTION commonplace_remove_$words() RETURNS trigger LANGUAGE plpgsql AS $$$$
BEGIN
    DELETE FROM $words AS kept
    USING gone, unnest(tsvector_to_array(gone.search_vector)) AS former (word)
    WHERE kept.tenant_id = gone.tenant_id AND kept.word = former.word AND kept.scope = gone.$scope
      AND kept.memory_id = gone.id;
    RETURN NULL;
END
$$$$
""",
    """
CREATE TRIGGER ${memories}_words_added AFTER INSERT ON $memories REFERENCING NEW TABLE AS arrived
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_add_$words()
""",
    """
CREATE TRIGGER ${memories}_words_removed AFTER DELETE ON $memories REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_remove_$words()
""",
    """
CREATE TRIGGER ${memories}_words_changed AFTER UPDATE OF tenant_id, $scope, search_vector, $state ON $memories
FOR EACH ROW WHEN (
    (OLD.tenant_id, OLD.$scope, OLD.search_vector, OLD.$state)
    IS DISTINCT FROM (NEW.tenant_id, NEW.$scope, NEW.search_vector, NEW.$state)
) EXECUTE FUNCTION commonplace_keep_$words()
""",
)


def upgrade() -> None:
    """Convert the older tables and their rows, then add tables, functions, triggers and policies."""
    for statements in (
        COLUMNS,
        OLDER_ROWS,
        _references(),
        TABLES,
        _words(),
        _checks(),
        _indexes(),
        FUNCTIONS,
        TRIGGERS,
        _policies(),
    ):
        for statement in statements:
            op.execute(statement)


def _references() -> Iterator[str]:
    for table, name, *_ in REFERENCES:
        yield f"ALTER TABLE {table} DROP CONSTRAINT fk_{table}_{name}"
    for table in (*MEMORIES, "entities"):
        yield f"ALTER TABLE {table} ADD CONSTRAINT uq_{table}_tenant_id UNIQUE (tenant_id, id)"
    for table, name, column, target, action in REFERENCES:
        yield (
            f"ALTER TABLE {table} ADD CONSTRAINT fk_{table}_{name} FOREIGN KEY (tenant_id, {column})"
            f" REFERENCES {target} (tenant_id, id) ON DELETE {action}"
        )


def _words() -> Iterator[str]:
    for memories, words, scope, searchable, expires_at, state in WORD_TABLES:
        names = {"memories": memories, "words": words, "scope": scope, "state": state}
        for name, row in (("arrived", "arrived"), ("new", "NEW")):
            names[f"{name}_searchable"] = Template(searchable).substitute(row=row)
            names[f"{name}_expires_at"] = Template(expires_at).substitute(row=row)
        for statement in WORDS:
            yield Template(statement).substitute(names)


def _checks() -> Iterator[str]:
    for table, checks in CHECKS.items():
        for name, condition in checks.items():
            yield f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_{name} CHECK ({condition})"
    # An unset tenant reads as the empty text.
    for table in (*TENANT_TABLES, "tenants"):
        yield f"ALTER TABLE {table} ADD CONSTRAINT ck_{table}_tenant CHECK (tenant_id <> '')"


def _indexes() -> Iterator[str]:
    for name in (*REBUILT_INDEXES, *(f"idx_{table}_embedding" for table in MEMORIES)):
        yield f"DROP INDEX {name}"
    for name, place in (REBUILT_INDEXES | NEW_INDEXES).items():
        unique = "UNIQUE " if name.startswith("uq_") else ""
        yield f"CREATE {unique}INDEX {name} ON {place}"
    for table in MEMORIES:
        condition = ACTIVE_ONLY.get(table, "")
        yield f"CREATE INDEX idx_{table}_embedding ON {table} USING {VECTOR_INDEX}{condition}"


def _policies() -> Iterator[str]:
    for table in TENANT_TABLES:
        yield f"CREATE POLICY {table}_tenant ON {table} USING ({OWN_ROWS}) WITH CHECK ({OWN_ROWS})"
    yield f"CREATE POLICY tenants_seen ON tenants FOR SELECT USING ({NO_TENANT} OR {OWN_ROWS})"
    yield f"CREATE POLICY tenants_noted ON tenants FOR INSERT WITH CHECK ({OWN_ROWS})"
    for table in (*TENANT_TABLES, "tenants"):
        yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
        yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
