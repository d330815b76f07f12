"""Names that a memory can have, for items of programs that have no such names or limits."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from commonplace.core.text import clean_text, collapse_whitespace, is_blank, trim_to
from commonplace.knowledge import MAX_KEY_CHARS, MAX_SCOPE_CHARS, MAX_TAG_CHARS, MAX_TAGS, FactDraft
from commonplace.services.transfer.items import Item, PastItem, Read, Unreadable

HASH_CHARS: Final = 8
MAX_KIND_CHARS: Final = MAX_KEY_CHARS - HASH_CHARS - 1


def subject_of(text: str) -> str:
    """Return a text as a subject, on one line and shortened to the length that a subject may have."""
    return trim_to(collapse_whitespace(clean_text(text)), MAX_KEY_CHARS)


def scope_of(name: str, default: str) -> str:
    """Return the name of a project as a scope or butler, shortened; the default for an empty name."""
    scope = collapse_whitespace(clean_text(name))
    return default if is_blank(scope) else trim_to(scope, MAX_SCOPE_CHARS)


def tags_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts as tags: without repeats and blanks, and as many and as long as a memory may have."""
    tags = dict.fromkeys(trim_to(collapse_whitespace(clean_text(text)), MAX_TAG_CHARS) for text in texts)
    return tuple(tag for tag in tags if not is_blank(tag))[:MAX_TAGS]


def predicate_of(kind: str, text: str) -> str:
    """Return a predicate that is distinct per text, the same at each import, and does not repeat the text.

    A line of a block has subject, predicate and text, so words of the text in the predicate would be there twice.
    """
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    return f"{trim_to(kind, MAX_KIND_CHARS)} {digest[:HASH_CHARS]}"


def with_distinct_keys(items: Iterable[Item | PastItem | Unreadable]) -> Read:
    """Yield the items of one source; if another fact has the same key, append a hash of the text to the predicate.

    Without the hash, the second of two texts of one key would supersede the first.
    """
    contents: dict[tuple[str, str, str], str] = {}
    for item in items:
        if isinstance(item, FactDraft):
            key = (item.scope, item.subject.casefold(), item.predicate)
            if contents.setdefault(key, item.content) != item.content:
                yield replace(item, predicate=predicate_of(item.predicate, item.content))
                continue
        yield item
