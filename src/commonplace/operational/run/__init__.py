"""Runs of the claude CLI as a scheduled ops agent.

``runner`` runs one session: ``prompt`` and ``recall`` build what goes in, ``agent`` is the process, ``recording``
stores what comes out. ``lock`` and ``processes`` keep sessions apart and clean up after them; ``schedule`` runs many.
"""
