"""Predicates for facts whose source has none."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from commonplace.knowledge import FactDraft
from commonplace.portability.items import Item, Read, Unreadable

PREDICATE_WORDS: Final = 8
MAX_PREDICATE_CHARS: Final = 80
HASH_CHARS: Final = 8


def predicate_of(text: str) -> str:
    """Return the first words of a text as a predicate that is distinct per fact and the same at each import."""
    words = re.findall(r"[^\W_]+", text)[:PREDICATE_WORDS]
    return " ".join(words)[:MAX_PREDICATE_CHARS].casefold() or "note"


def with_distinct_keys(items: Iterable[Item | Unreadable]) -> Read:
    """Yield the items of one source; if another fact has the same key, append a hash of the text to the predicate.

    Without the hash, the second of two texts that begin with the same words would supersede the first.
    """
    contents: dict[tuple[str, str, str], str] = {}
    for item in items:
        if isinstance(item, FactDraft):
            key = (item.scope, item.subject, item.predicate)
            if contents.setdefault(key, item.content) != item.content:
                digest = hashlib.sha256(item.content.encode()).hexdigest()[:HASH_CHARS]
                yield replace(item, predicate=f"{item.predicate} {digest}")
                continue
        yield item
