"""Search by substring, by tag, or by both. Pure.

Source: WSP-05.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.workspace.model.bounds import MAX_RESULTS
from commonplace.workspace.model.memories import Note


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteSearch:
    """The memories found, newest first."""

    memories: tuple[Note, ...]

    @property
    def count(self) -> int:
        """The number of memories returned."""
        return len(self.memories)


def search(
    memories: Sequence[Note], *, query: str = "", tag: str = "", limit: int | None = MAX_RESULTS
) -> NoteSearch:
    """Find memories whose text contains the query and that have the tag.

    Case and the encoding of accents do not matter. An empty query or tag matches every memory. The query is a
    substring, so text in any script is found, with or without spaces between its words.

    ``memories`` go from oldest to newest; ``limit=None`` returns all that are found.
    """
    wanted, wanted_tag = _fold(query.strip()), _fold(tag.strip())
    found: list[Note] = []
    for memory in reversed(memories):
        if wanted in _fold(memory.text) and (not wanted_tag or wanted_tag in map(_fold, memory.tags)):
            found.append(memory)
            if len(found) == limit:
                break
    return NoteSearch(memories=tuple(found))


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()
