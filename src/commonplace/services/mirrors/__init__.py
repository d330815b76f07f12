"""Mirrors: folders where chosen facts and rules stand in the form of an agent host, or as notes of a vault.

:mod:`.forms` writes memories as each host does, :mod:`.notes` finds and changes notes on disk, :mod:`.registry` holds
the mirrors of a home, and :mod:`.mirroring` brings a mirror and the memory up to date with each other.
"""
