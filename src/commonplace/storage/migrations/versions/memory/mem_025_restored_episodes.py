"""Staleness ends where a forgotten episode was restored."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_025"
down_revision = "mem_024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Replace the function."""
    run_script(__file__)
