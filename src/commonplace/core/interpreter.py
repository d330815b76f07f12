"""Settings of the Python interpreter for a fast start; every hook waits for this module, so it imports nothing."""

COLLECT_AFTER = 50_000
"""Allocations before a garbage collection. Imports create hundreds of thousands of objects and free few; with Python's
default of 700, collections take a tenth of the start time. Source: measured."""
