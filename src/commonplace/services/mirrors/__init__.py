"""Mirrors: folders that are kept up to date with chosen facts and rules, in the format of a host or as notes of a vault.

:mod:`.forms` has the formats, :mod:`.notes` reads and writes notes on disk, :mod:`.registry` holds the mirrors of a
home, and :mod:`.mirroring` reads edits from a mirror and writes memories into it.
"""
