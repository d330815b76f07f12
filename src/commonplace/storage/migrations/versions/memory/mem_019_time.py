"""Time: when a fact holds, what was known of it when, and pairs of memories that a person told apart."""

from commonplace.storage.migrations.scripts import run_script

revision = "mem_019"
down_revision = "mem_017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns and the tables, and fill the states of facts from what is known of them."""
    run_script(__file__)
