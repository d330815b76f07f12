"""The audit stream (KNW-25.7)."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_003"
down_revision = "mem_002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table and its indexes."""
    run_script(__file__)
