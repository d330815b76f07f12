"""The rest of knowledge memory: tenants, history, vectors, words, consolidation and re-embedding.

Every row belongs to a tenant, and row-level security hides it from the others (KNW-29, R-KNW-12). References go over
``(tenant_id, id)``, because checks of foreign keys see all rows: a plain reference to a guessed id of another tenant
would be accepted.

Row-level security allows an index only for conditions that cannot leak the rows that they test. Equality of texts and
numbers is one, ``search_vector @@ …`` and expressions on JSON are not. So the words of each memory are rows of their
own (KNW-07, R-KNW-6), and what an event is about is in columns.

Revisions ``mem_004`` to ``mem_014`` belong to development versions; this one creates what they created.
"""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_015"
down_revision = "mem_003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Convert the older tables and their rows, then add tables, functions, triggers and policies."""
    run_script(__file__)
