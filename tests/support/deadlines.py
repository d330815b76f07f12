"""Deadline for waiting in tests, long enough for a machine that does ten other things."""

from typing import Final

DEADLINE_S: Final = 90.0
"""A process that a test must not wait for sleeps twice as long."""
