"""Words of memories written and removed by the statement, not by the row, and a thinner graph of vectors.

Storing a hundred episodes ran a hundred insertions of some ten words each. One insertion of all of them, in the order
of the index, takes half the time. And each vector that is added looks at 32 candidates for its neighbours, not at 48:
that takes a quarter off, and searches look around as widely as before (ADR 0010).
"""

from string import Template

from alembic import op

revision = "mem_012"
down_revision = "mem_011"
branch_labels = None
depends_on = None

# Of each table: the column that is its scope, when its words expire, when it has any.
TABLES = (
    {
        "memories": "episodes",
        "words": "episode_words",
        "scope": "butler",
        "expires_at": "arrived.expires_at",
        "searchable": "true",
    },
    {
        "memories": "facts",
        "words": "fact_words",
        "scope": "scope",
        "expires_at": "NULL",
        "searchable": "arrived.validity = 'active'",
    },
    {
        "memories": "rules",
        "words": "rule_words",
        "scope": "scope",
        "expires_at": "NULL",
        "searchable": "(arrived.metadata -> 'forgotten') IS DISTINCT FROM 'true'",
    },
)

# In the order of the index, so that neighbouring words are written to the same pages.
ADD = Template("""
CREATE FUNCTION commonplace_add_$words() RETURNS trigger LANGUAGE plpgsql AS $$$$
BEGIN
    INSERT INTO $words (tenant_id, word, scope, memory_id, expires_at)
    SELECT arrived.tenant_id, given.word, arrived.$scope, arrived.id, $expires_at
    FROM arrived, unnest(tsvector_to_array(arrived.search_vector)) AS given (word)
    WHERE octet_length(given.word) <= 200 AND $searchable
    ORDER BY 1, 2, 3, 4;
    RETURN NULL;
END
$$$$
""")

REMOVE = Template("""
CREATE FUNCTION commonplace_remove_$words() RETURNS trigger LANGUAGE plpgsql AS $$$$
BEGIN
    DELETE FROM $words AS kept
    USING gone, unnest(tsvector_to_array(gone.search_vector)) AS former (word)
    WHERE kept.tenant_id = gone.tenant_id AND kept.word = former.word AND kept.scope = gone.$scope
      AND kept.memory_id = gone.id;
    RETURN NULL;
END
$$$$
""")

TRIGGERS = (
    Template("""
CREATE TRIGGER ${memories}_words_added AFTER INSERT ON $memories REFERENCING NEW TABLE AS arrived
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_add_$words()
"""),
    Template("""
CREATE TRIGGER ${memories}_words_removed AFTER DELETE ON $memories REFERENCING OLD TABLE AS gone
FOR EACH STATEMENT EXECUTE FUNCTION commonplace_remove_$words()
"""),
)

# The trigger on changes stays by the row: one on some columns cannot see a statement's rows.
BY_ROW = Template("""
CREATE TRIGGER ${memories}_words_kept AFTER INSERT OR DELETE ON $memories
FOR EACH ROW EXECUTE FUNCTION commonplace_keep_$words()
""")

CANDIDATES = 32
CANDIDATES_BEFORE = 48


def upgrade() -> None:
    """Exchange the triggers, and tell the indexes on vectors how to add from now on; what is in them stays."""
    for names in TABLES:
        op.execute(f"DROP TRIGGER {names['memories']}_words_kept ON {names['memories']}")
        for statement in (ADD, REMOVE, *TRIGGERS):
            op.execute(statement.substitute(names))
        op.execute(f"ALTER INDEX idx_{names['memories']}_embedding SET (ef_construction = {CANDIDATES})")


def downgrade() -> None:
    """Exchange them back."""
    for names in TABLES:
        op.execute(
            f"ALTER INDEX idx_{names['memories']}_embedding SET (ef_construction = {CANDIDATES_BEFORE})"
        )
        op.execute(f"DROP FUNCTION commonplace_add_{names['words']}() CASCADE")
        op.execute(f"DROP FUNCTION commonplace_remove_{names['words']}() CASCADE")
        op.execute(BY_ROW.substitute(names))
