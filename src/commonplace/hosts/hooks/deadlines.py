"""How long a prompt waits for its memories, in seconds."""

from typing import Final

RECALL_TIMEOUT_S: Final = 3.0
LESSONS_TIMEOUT_S: Final = 0.5
