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

    The specified schema names ``uuid-ossp`` and ``pg_trgm``, and many servers lack one of them. So no statement and no
    index of commonplace may need an extension that this function creates.
    """
    if op.get_bind().execute(_AVAILABLE, {"name": name}).scalar():
        op.execute(_CREATE_IF_ALLOWED.format(name=name))
