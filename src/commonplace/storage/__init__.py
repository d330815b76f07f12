"""Databases: SQLite and PostgreSQL, their migrations, and named SQL over both.

A memory uses a :class:`~commonplace.storage.store.Store` and no driver, so that the same ``.sql`` file serves both
servers.
"""
