"""Optional PostgreSQL extensions of a revision."""

from alembic import op
from sqlalchemy import text

_AVAILABLE = text("SELECT 1 FROM pg_available_extensions WHERE name = :name AND installed_version IS NULL")
_CREATE_IF_ALLOWED = """
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS "{name}" WITH SCHEMA public;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'extension {name} is not used: this role may not create it';
END
$$
"""


def create_where_available(name: str) -> None:
    """Create an extension in ``public`` if the server has it and the role may create it.

    Nothing may depend on the extension.
    """
    if op.get_bind().execute(_AVAILABLE, {"name": name}).scalar():
        op.execute(_CREATE_IF_ALLOWED.format(name=name))
