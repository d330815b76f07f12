"""Files of a project that are read while somebody waits."""

from pathlib import Path


def beginning(path: Path, most_bytes: int) -> str:
    """Return the beginning of a file as text; an empty text for a file that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most_bytes).decode(errors="replace")
    except OSError:
        return ""
