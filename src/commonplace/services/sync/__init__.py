"""Sync: the memories of a home on several devices, over a carrier that only moves files (ADR 0040).

:mod:`.versions`, :mod:`.merging`, :mod:`.finding` and :mod:`.erasures` decide, and :mod:`.changes` and :mod:`.kinds`
have the nouns. :mod:`.device_files`, :mod:`.keys`, :mod:`.home_keys` and :mod:`.introductions` seal what travels, and
:mod:`.state` is what a device keeps. :mod:`.members`, :mod:`.chains` and :mod:`.sending` are the steps of a sync at the
carrier, and :mod:`.syncing` ties them together. A :mod:`.replica` reads and writes the memories.
"""
