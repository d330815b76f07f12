"""Answers of requests under the keys that clients chose, for requests that are repeated."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_023"
down_revision = "mem_022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    run_script(__file__)
