"""PostgreSQL extensions that a revision would like, and does without where they cannot be had."""

from alembic import op
from sqlalchemy import text

_AVAILABLE = text("SELECT 1 FROM pg_available_extensions WHERE name = :name AND installed_version IS NULL")
_CREATE_IF_ALLOWED = """
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS "{name}" WITH SCHEMA public;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'extension {name} is done without: this role may not create it';
END
$$
"""


def create_where_available(name: str) -> None:
    """Create an extension in ``public`` where the server brings it and the role may; else do nothing.

    Args:
        name: Of an extension that nothing depends on, for example ``"pg_trgm"``.
    """
    if op.get_bind().execute(_AVAILABLE, {"name": name}).scalar():
        op.execute(_CREATE_IF_ALLOWED.format(name=name))
