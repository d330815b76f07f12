"""How long tests wait for what always comes: longer than a machine takes that does ten other things meanwhile."""

from typing import Final

DEADLINE_S: Final = 30.0
"""Processes that tests must not be held up by sleep twice as long."""
