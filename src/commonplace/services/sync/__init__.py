"""Sync: the memories of a home on several devices, over a carrier that only moves files (ADR 0040).

:mod:`.versions`, :mod:`.merging`, :mod:`.finding` and :mod:`.erasures` decide, and :mod:`.changes` and :mod:`.kinds`
have the nouns. :mod:`.device_files`, :mod:`.keys` and :mod:`.home_keys` seal what travels, :mod:`.state` is what a
device keeps, and :mod:`.syncing` ties them together. :mod:`.replicas` give and take the memories, :mod:`.carriers`
move the files, and :mod:`.home` is what commands call.
"""
