"""Scripts without spaces between words, and the folded form for comparing words.

Texts in such scripts are compared by pairs of neighbouring characters: two texts that share a word of two or more
characters share a pair.
"""

import unicodedata
from typing import Final

HIRAGANA: Final = "\u3040-\u309f"
KATAKANA: Final = "\u30a0-\u30ff\u31f0-\u31ff"
HAN: Final = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f"
HANGUL: Final = "\uac00-\ud7a3"
"""Korean has spaces between words, but not before endings."""
THAI_LAO: Final = "\u0e00-\u0eff"
BURMESE_KHMER: Final = "\u1000-\u109f\u1780-\u17ff"

UNSPACED: Final = HIRAGANA + KATAKANA + HAN + HANGUL + THAI_LAO + BURMESE_KHMER
"""All scripts above, for the brackets of a regular expression."""


def fold(text: str) -> str:
    """Return a text in compatibility form (NFKC) and folded case, which ignores case and width."""
    return unicodedata.normalize("NFKC", text).casefold()


def character_pairs(run: str) -> list[str]:
    """Return the pairs of neighbouring characters of a run; a single character is its own pair."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
