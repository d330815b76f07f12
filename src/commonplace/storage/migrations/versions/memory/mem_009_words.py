"""The words of each memory as rows of their own, and the order in which episodes came (KNW-07, R-KNW-6).

Row-level security lets no index be used for a condition that might leak what it sees, and that holds for
``search_vector @@ …``: a search would read all rows of a tenant. Equality of texts is known not to leak, so a plain
table with a B-tree serves. Triggers keep it, whatever statement changes a memory.
"""

from string import Template

from alembic import op

revision = "mem_009"
down_revision = "mem_008"
branch_labels = None
depends_on = None

# Of each table: the column that is its scope, when its words expire, when it has any, what else changes them.
TABLES = (
    {
        "memories": "episodes",
        "words": "episode_words",
        "scope": "butler",
        "expires_at": "NEW.expires_at",
        "searchable": "true",
        "state": "expires_at",
    },
    {
        "memories": "facts",
        "words": "fact_words",
        "scope": "scope",
        "expires_at": "NULL",
        "searchable": "NEW.validity = 'active'",
        "state": "validity",
    },
    {
        "memories": "rules",
        "words": "rule_words",
        "scope": "scope",
        "expires_at": "NULL",
        "searchable": "(NEW.metadata -> 'forgotten') IS DISTINCT FROM 'true'",
        "state": "metadata",
    },
)

WORDS = Template("""
CREATE TABLE $words (
    tenant_id TEXT NOT NULL DEFAULT 'default',
    word TEXT COLLATE "C" NOT NULL,
    scope TEXT NOT NULL,
    memory_id UUID NOT NULL,
    expires_at TIMESTAMPTZ,
    CONSTRAINT pk_$words PRIMARY KEY (tenant_id, word, scope, memory_id) INCLUDE (expires_at),
    CONSTRAINT ck_${words}_tenant CHECK (tenant_id <> '')
)
""")

# Longer words are debris (base64, keys), and an index row has room for 2,700 bytes.
KEEP_WORDS = Template("""
CREATE FUNCTION commonplace_keep_$words() RETURNS trigger LANGUAGE plpgsql AS $$$$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM $words
        WHERE tenant_id = OLD.tenant_id AND scope = OLD.$scope AND memory_id = OLD.id
          AND word = ANY (tsvector_to_array(OLD.search_vector));
    END IF;
    IF TG_OP <> 'DELETE' AND $searchable THEN
        INSERT INTO $words (tenant_id, word, scope, memory_id, expires_at)
        SELECT NEW.tenant_id, word, NEW.$scope, NEW.id, $expires_at
        FROM unnest(tsvector_to_array(NEW.search_vector)) AS word
        WHERE octet_length(word) <= 200;
    END IF;
    RETURN NULL;
END
$$$$
""")

ON_ARRIVAL = Template("""
CREATE TRIGGER ${memories}_words_kept AFTER INSERT OR DELETE ON $memories
FOR EACH ROW EXECUTE FUNCTION commonplace_keep_$words()
""")

# A search counts references on the rows that it returns; that must not write their words again.
ON_CHANGE = Template("""
CREATE TRIGGER ${memories}_words_changed AFTER UPDATE OF tenant_id, $scope, search_vector, $state ON $memories
FOR EACH ROW WHEN (
    (OLD.tenant_id, OLD.$scope, OLD.search_vector, OLD.$state)
    IS DISTINCT FROM (NEW.tenant_id, NEW.$scope, NEW.search_vector, NEW.$state)
) EXECUTE FUNCTION commonplace_keep_$words()
""")

FILL = Template("""
INSERT INTO $words (tenant_id, word, scope, memory_id, expires_at)
SELECT NEW.tenant_id, word, NEW.$scope, NEW.id, $expires_at
FROM $memories AS new, unnest(tsvector_to_array(search_vector)) AS word
WHERE octet_length(word) <= 200 AND $searchable
ORDER BY 1, 2, 3, 4
""")

OWN_ROWS = "tenant_id = current_setting('commonplace.tenant_id', true)"

# Turns of one session may share a moment, and are neighbours in the order in which they came.
ORDER = (
    "ALTER TABLE episodes ADD COLUMN insertion_order BIGINT GENERATED ALWAYS AS IDENTITY",
    (
        "CREATE INDEX idx_episodes_session ON episodes (tenant_id, session_id, created_at, insertion_order)"
        " WHERE session_id IS NOT NULL"
    ),
)


def upgrade() -> None:
    """Number the episodes, and write down the words of every memory, now and from now on."""
    for statement in ORDER:
        op.execute(statement)
    for names in TABLES:
        memories, words = names["memories"], names["words"]
        op.execute(WORDS.substitute(names))
        op.execute(f"ALTER TABLE {memories} NO FORCE ROW LEVEL SECURITY")
        op.execute(FILL.substitute(names))
        op.execute(f"ALTER TABLE {memories} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY {words}_tenant ON {words} USING ({OWN_ROWS}) WITH CHECK ({OWN_ROWS})")
        op.execute(f"ALTER TABLE {words} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {words} FORCE ROW LEVEL SECURITY")
        for statement in (KEEP_WORDS, ON_ARRIVAL, ON_CHANGE):
            op.execute(statement.substitute(names))


def downgrade() -> None:
    """Drop words and numbers; both are made of what stays."""
    for names in TABLES:
        op.execute(f"DROP FUNCTION commonplace_keep_{names['words']}() CASCADE")
        op.drop_table(names["words"])
    op.execute("ALTER TABLE episodes DROP COLUMN insertion_order")
