"""Mirrors: folders that are kept up to date with chosen facts and rules, in the format of a host or as a vault.

:mod:`.forms` has the formats, :mod:`.notes` reads and writes notes on disk, and :mod:`.registry` holds the mirrors of a
home. :mod:`.mirroring` brings a mirror up to date: :mod:`.edits` reads it, and :mod:`.output` writes it.
"""
