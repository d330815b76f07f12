"""Workspace memory: short notes about one workspace, kept in a JSONL file inside it.

An agent stores, searches and deletes notes with three tools. The notes that match its last user message go into the
prompt of every model call. Import from here: the names below are public, and each one loads when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
