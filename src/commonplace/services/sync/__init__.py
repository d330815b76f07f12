"""Sync: the memories of a home on several devices, over a carrier that only moves files (ADR 0040).

:mod:`.versions`, :mod:`.merging` and :mod:`.finding` decide, and :mod:`.changes` and :mod:`.kinds` have the nouns.
:mod:`.device_files` and :mod:`.keys` seal what travels, :mod:`.state` is what a device keeps, and :mod:`.syncing` ties
them together. The memories of a home are not connected yet: a replica gives and takes them.
"""
