"""Names for texts that have none."""

import re
from typing import Final

PREDICATE_WORDS: Final = 8
MAX_PREDICATE_CHARS: Final = 80


def predicate_of(text: str) -> str:
    """Return the first words of a text: facts of one subject need predicates of their own, the same at each import."""
    words = re.findall(r"[^\W_]+", text)[:PREDICATE_WORDS]
    return " ".join(words)[:MAX_PREDICATE_CHARS].casefold() or "note"
