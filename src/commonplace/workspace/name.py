"""The name of a workspace, which is the butler of its sessions in knowledge memory."""

from pathlib import Path
from typing import Final

from commonplace.core.text import clean_text

NAMELESS: Final = "workspace"
MAX_NAME_CHARS: Final = 100


def butler_of(workspace: Path) -> str:
    """Return the butler of the sessions in a workspace: the name of its directory, 1 to 100 characters."""
    return clean_text(workspace.name).strip()[:MAX_NAME_CHARS].strip() or NAMELESS
