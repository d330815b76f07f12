"""Files that tell Git how to treat the directory of the memory file.

Without them, two branches that both stored a memory would always conflict: each appended a line to the same file.
"""

from contextlib import suppress
from pathlib import Path
from typing import Final

_FILES: Final = {
    ".gitattributes": "memories.jsonl merge=union\nmemories.last-id merge=union\npairs.jsonl merge=union\n",
    ".gitignore": "memories.lock\n*.tmp\n",
}


def write_files(directory: Path) -> None:
    """Write the files that do not exist; if they cannot be written, memory works without them."""
    for name, text in _FILES.items():
        with suppress(OSError), (directory / name).open("x", encoding="utf-8") as file:
            file.write(text)
