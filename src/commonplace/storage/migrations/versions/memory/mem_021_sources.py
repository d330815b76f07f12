"""Sources of memories, the trust in them, and flags of texts that look like instructions."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_021"
down_revision = "mem_020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the functions, the columns and the state of a held fact."""
    run_script(__file__)
