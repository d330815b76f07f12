"""Episodes, facts, rules and the links between them: the baseline (KNW-01, KNW-25)."""

from commonplace.storage.migrations.extensions import create_where_available
from commonplace.storage.migrations.scripts import run_script

revision = "mem_001"
down_revision = None
branch_labels = ("memory",)
depends_on = None


def upgrade() -> None:
    """Create the tables and indexes exactly as the specification gives them."""
    create_where_available("uuid-ossp")
    run_script(__file__)
