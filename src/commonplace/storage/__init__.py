"""Databases: SQLite and PostgreSQL, their migrations, and named SQL over both.

A memory uses a :class:`~commonplace.storage.store.Store` instead of a driver, so that the same ``.sql`` file serves
both servers.
"""
