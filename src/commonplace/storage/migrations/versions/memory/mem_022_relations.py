"""Names of entities, and the facts whose texts hold them: what relations between entities are read from."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_022"
down_revision = "mem_021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables, fill them from what is stored, and keep them by triggers."""
    run_script(__file__)
