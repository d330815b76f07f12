"""Runs of the claude CLI as a scheduled ops agent.

``runner`` runs one session: ``prompt`` and ``recall`` build the input, ``agent`` is the process, and ``recording``
stores the output. ``lock`` and ``processes`` keep sessions apart and clean up after them; ``schedule`` runs sessions
at intervals.
"""
