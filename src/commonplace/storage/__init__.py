"""Where memories are kept: SQLite and PostgreSQL, their migrations, and named SQL over both.

Stores of a memory speak to a :class:`~commonplace.storage.database.Database` and never to a driver, so that the
same ``.sql`` file serves both servers.
"""
