"""Corrections by consolidation: withdrawn memories, rewritten rules, notes of a run, and pairs of facts to review."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_017"
down_revision = "mem_016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, the table and its policy."""
    run_script(__file__)
