"""Alembic's entry point: it runs the revisions on the connection that the runner opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
