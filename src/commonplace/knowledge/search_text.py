"""The words of a text, as the keyword search compares them: the same for what is stored and for what is asked.

PostgreSQL's English configuration finds words between spaces. Scripts that write none get their character
bigrams as words: a question's bigrams are found in every text that holds the same run of characters.
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
    """Return what goes into the search vector of a text, for the database's ``commonplace_search_vector``.

    Returns:
        Without NUL and lone surrogates, whitespace collapsed, cut to 1 MiB, in compatibility form and folded
        case (the database may know the case of ASCII letters only); runs of unspaced script as their bigrams.

    Source: KNW-11.
    """
    return _words(preprocess_text(text))


def search_query_text(query: str | None) -> str:
    """Return what goes into ``plainto_tsquery`` for a query: as :func:`search_text`, and never cut.

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
