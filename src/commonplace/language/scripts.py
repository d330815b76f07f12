"""Scripts that write no space between words, and the folded form in which words are compared.

A run of such a script is compared by its pairs of neighbouring characters: two texts share a pair wherever they share
a word of two characters or more.
"""

import unicodedata
from typing import Final

HIRAGANA: Final = "\u3040-\u309f"
KATAKANA: Final = "\u30a0-\u30ff\u31f0-\u31ff"
HAN: Final = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f"
HANGUL: Final = "\uac00-\ud7a3"
"""Korean has spaces, but not before its endings."""
THAI_LAO: Final = "\u0e00-\u0eff"
BURMESE_KHMER: Final = "\u1000-\u109f\u1780-\u17ff"

UNSPACED: Final = HIRAGANA + KATAKANA + HAN + HANGUL + THAI_LAO + BURMESE_KHMER
"""Every script above, for use inside the brackets of a regular expression."""


def fold(text: str) -> str:
    """Return a text in compatibility form (NFKC) and folded case, so that case and width do not count."""
    return unicodedata.normalize("NFKC", text).casefold()


def character_pairs(run: str) -> list[str]:
    """Return the pairs of neighbouring characters of a run; a single character is returned as it is."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
