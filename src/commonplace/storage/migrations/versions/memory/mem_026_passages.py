"""Passages of long memories, each with a vector of its own (SHW-08)."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_026"
down_revision = "mem_025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables; upkeep makes the passages of memories that are stored already."""
    run_script(__file__)
