"""The words of memories and queries as the keyword search compares them.

PostgreSQL's English configuration finds words between spaces. In scripts without spaces, pairs of characters serve as
words: the pairs of a query are found in every text that holds the same run of characters.
"""

import re
from typing import Final

from commonplace.core.text import preprocess_search_query, preprocess_text
from commonplace.language.scripts import UNSPACED, character_pairs, fold

_UNSPACED: Final = re.compile(f"[{UNSPACED}]+")


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
    return _UNSPACED.sub(lambda run: f" {' '.join(character_pairs(run[0]))} ", fold(text)).strip()
