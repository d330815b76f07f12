"""The energy that the work on memories takes, and the digests that wait for it (APP-11)."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "app_003"
down_revision = "app_002"
branch_labels = None
depends_on = None

# PostgreSQL's REAL holds six digits only.
UNITS: TypeEngine[float] = sa.Double[float]().with_variant(sa.REAL[float](), "sqlite")


def upgrade() -> None:
    """Create the budget, its ledger and the queue."""
    op.create_table(
        "energy_budget",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("level", UNITS, nullable=False),
        # The level was this at that moment; it has been refilling since.
        sa.Column("as_of", sa.Text, nullable=False),
        sa.CheckConstraint("id = 1", name="ck_energy_budget_one_row"),
    )
    op.create_table(
        "energy_ledger",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("operation", sa.Text, nullable=False),
        # No foreign key: what was spent stays spent when an app goes.
        sa.Column("app_id", sa.Text),
        sa.Column("conversation_id", sa.Text),
        sa.Column("units", UNITS, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("idx_energy_ledger_created", "energy_ledger", ["created_at"])
    op.create_table(
        "app_digests",
        sa.Column("app_id", sa.Text, sa.ForeignKey("apps.app_id", ondelete="CASCADE"), primary_key=True),
        sa.Column("conversation_id", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        # Who works on it, and until when nobody else may.
        sa.Column("claim", sa.Text),
        sa.Column("claimed_until", sa.Text),
        # What is to be digested, where it is not a conversation of ours.
        sa.Column("request", sa.Text),
        sa.Column("queued_at", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Text, nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'deferred', 'done')", name="ck_app_digests_state"
        ),
    )
    op.create_index("idx_app_digests_state", "app_digests", ["state", "queued_at"])


def downgrade() -> None:
    """Drop them."""
    op.drop_table("app_digests")
    op.drop_table("energy_ledger")
    op.drop_table("energy_budget")
