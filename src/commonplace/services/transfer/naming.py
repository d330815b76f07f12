"""Predicates for facts whose source has none."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from commonplace.knowledge import FactDraft
from commonplace.services.transfer.items import Item, PastItem, Read, Unreadable

HASH_CHARS: Final = 8


def predicate_of(kind: str, text: str) -> str:
    """Return a predicate that is distinct per text, the same at each import, and does not repeat the text.

    A line of a block has subject, predicate and text, so words of the text in the predicate would be there twice.
    """
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{kind} {digest[:HASH_CHARS]}"


def with_distinct_keys(items: Iterable[Item | PastItem | Unreadable]) -> Read:
    """Yield the items of one source; if another fact has the same key, append a hash of the text to the predicate.

    Without the hash, the second of two texts of one key would supersede the first.
    """
    contents: dict[tuple[str, str, str], str] = {}
    for item in items:
        if isinstance(item, FactDraft):
            key = (item.scope, item.subject, item.predicate)
            if contents.setdefault(key, item.content) != item.content:
                yield replace(item, predicate=predicate_of(item.predicate, item.content))
                continue
        yield item
