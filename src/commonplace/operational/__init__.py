"""Operational memory: what a scheduled ops agent learned about the services it looks after.

The agent prints markers; :class:`~commonplace.operational.memory.OperationalMemory` keeps what they say in a
database, with a confidence that grows by reinforcement and shrinks by contradiction and age, and puts the most
trusted of it into the next session's system prompt.
"""
