"""Entities, and the keys by which a fact is unique (KNW-16, KNW-25.4, KNW-25.6)."""

from commonplace.storage.migrations.extensions import create_where_available
from commonplace.storage.migrations.scripts import run_script

revision = "mem_002"
down_revision = "mem_001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table, let facts refer to it, and make one active fact a key the rule."""
    create_where_available("pg_trgm")
    run_script(__file__)
