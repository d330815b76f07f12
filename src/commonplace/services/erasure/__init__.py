"""Erasure: permanent deletion of memories about a subject, or from a source, a session or a tenant.

- ``selection`` selects what to erase; ``tables`` lists the tables with text and the references between their rows.
- ``rows`` accesses SQLite and PostgreSQL; ``finding`` finds, deletes and redacts rows; ``compaction`` rewrites the
  database files, because a deleted row stays in its file.
- ``files`` searches and cleans files; ``erasing`` runs all steps in order and searches for remaining texts.
"""
