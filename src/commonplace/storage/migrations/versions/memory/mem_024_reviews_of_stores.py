"""Reviews of facts that a store replaced, which belong to no consolidation run."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_024"
down_revision = "mem_023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Let a review have no run."""
    run_script(__file__)
