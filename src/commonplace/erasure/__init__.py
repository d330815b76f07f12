"""Erasure: deletion of what the memories hold about a subject, a source, a session or a tenant.

- ``selection`` says what is erased; ``tables`` lists the tables with text, and how their rows depend on each other.
- ``rows`` speaks to SQLite and PostgreSQL; ``finding`` finds, deletes and redacts rows; ``compaction`` rewrites the
  database files, because a deleted row stays in its file.
- ``files`` searches and cleans files; ``erasing`` does everything in order and searches what remains.
"""
