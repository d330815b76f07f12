"""The words of memories and queries as the keyword search compares them.

PostgreSQL's English configuration finds words between spaces. In scripts without spaces, pairs of characters serve as
words: the pairs of a query are found in every text that holds the same run of characters.
"""

import re
import unicodedata
from typing import Final

from commonplace.core.text import preprocess_search_query, preprocess_text

_UNSPACED: Final = re.compile(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f"  # Chinese characters
    "\uac00-\ud7a3"  # Korean: it has spaces, but not before its endings
    "]+"
)


def search_text(text: str | None) -> str:
    """Return the words of a text for the database's ``commonplace_search_vector``.

    Returns:
        The text without NUL and lone surrogates, with collapsed whitespace, cut to 1 MiB, in compatibility form and
        folded case (the database may fold ASCII only), with runs of unspaced script as pairs of characters.

    Source: KNW-11.
    """
    return _words(preprocess_text(text))


def search_query_text(query: str | None) -> str:
    """Return the words of a query for ``plainto_tsquery``: as :func:`search_text`, but never cut.

    Source: KNW-11.3.
    """
    return _words(preprocess_search_query(query))


def _words(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _UNSPACED.sub(_bigrams, folded).strip()


def _bigrams(run: re.Match[str]) -> str:
    characters = run[0]
    if len(characters) == 1:
        return f" {characters} "
    pairs = (characters[at : at + 2] for at in range(len(characters) - 1))
    return f" {' '.join(pairs)} "
