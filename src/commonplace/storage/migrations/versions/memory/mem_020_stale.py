"""Staleness: whether what a memory was derived from no longer holds."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_020"
down_revision = "mem_019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the function."""
    run_script(__file__)
