"""Workspace memory: small facts of one workspace, kept in a JSONL file inside it.

An agent stores, searches and deletes them with three tools; those that fit its last user message are put into
its prompt before every model call. Rules are pure (``relevance``, ``context``, ``search``), ``store`` keeps the
file, and ``memory`` ties them together.
"""
