"""Operational memory: observations of a scheduled ops agent about the services that it looks after.

The agent prints markers. :class:`OperationalMemory` stores them in a database with a confidence that grows by
reinforcement and shrinks by contradiction and age, and puts the most trusted ones into the next system prompt.
Import from here: the names below are public, and each one loads when it is first used.
"""

from commonplace.core.public_names import public_names

__all__, __getattr__ = public_names(__name__, __path__[0])
