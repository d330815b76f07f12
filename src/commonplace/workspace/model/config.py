"""The settings of workspace memory."""

from dataclasses import dataclass
from enum import StrEnum


class InjectMode(StrEnum):
    """The choice of memories for the prompt."""

    RELEVANT = "relevant"
    RECENT_ONLY = "recent_only"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """Limits of stored and shown memories.

    Attributes:
        inject_mode: ``relevant`` scores memories against the last user message, ``recent_only`` takes the newest,
            ``off`` shows none; the tools work in every mode.
        max_inject_chars: Maximum number of characters of memory text in the prompt, without the block's header and ids.
        max_total: Maximum number of memories; storing another one deletes the oldest.
    """

    inject_mode: InjectMode = InjectMode.RELEVANT
    max_inject_chars: int = 2000
    max_inject_count: int = 10
    max_total: int = 500
