"""The words of a text, as the keyword search compares them: the same for what is stored and for what is asked.

PostgreSQL's English configuration finds words between spaces. Scripts that write none get their character
bigrams as words: a question's bigrams are found in every text that holds the same run of characters.
"""

import re
from typing import Final

from commonplace.core.text import preprocess_search_query, preprocess_text
from commonplace.language.scripts import UNSPACED, character_pairs, fold

_UNSPACED: Final = re.compile(f"[{UNSPACED}]+")


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
    return _UNSPACED.sub(lambda run: f" {' '.join(character_pairs(run[0]))} ", fold(text)).strip()
