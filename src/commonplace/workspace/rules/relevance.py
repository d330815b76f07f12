"""Relevance of memories to a message: the words that both have, and a bonus for recent memories. Pure.

Source: WSP-09, R-WSP-2.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from commonplace.language.scripts import HAN, HANGUL, KATAKANA, character_pairs
from commonplace.workspace.model.memories import Note

MIN_WORD_CHARS: Final = 3

STOPWORDS: Final = frozenset(
    """
    the and for are but not you all can has her
    was one our out its use how may who did get
    had him his let say she too own way about
    could from have into just like make many some
    than that them then this very when what with
    will would been each more most much must only
    also back being come every first here know made
    need over such take where which while work
    project please help want using thing file should
    """.split()  # noqa: SIM905 - reads as the specification's list does
)
"""Stopwords. Source: WSP-09.4, the specification's list."""

_HOUR_S: Final = 3600.0
_WORD = re.compile(r"[^\W_]+")
# Pairs of hiragana are endings and particles, which occur in every sentence.
_UNSPACED = re.compile(f"[{KATAKANA}{HAN}{HANGUL}]{{2,}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRelevance:
    """The score of a memory for a message.

    Attributes:
        words: The words that the memory shares with the message.
        bonus: The recency bonus, 0.0 to 1.0; 0.0 if no word is shared.
    """

    memory: Note
    words: frozenset[str]
    bonus: float

    @property
    def score(self) -> float:
        """The number of shared words plus the bonus; 0.0 means not relevant."""
        return len(self.words) + self.bonus


@lru_cache(maxsize=2048)
def words(text: str) -> frozenset[str]:
    """Return the relevant words of a text.

    Text is lower-cased and split at every character that is neither a letter nor a digit in any script. Stopwords and
    words under three characters are dropped. Chinese and Japanese have no spaces between words, so a whole clause
    would be one word; therefore each pair of neighbouring characters in such a run is a word too.
    """
    found: set[str] = set()
    for word in _WORD.findall(unicodedata.normalize("NFC", text).lower()):
        if len(word) >= MIN_WORD_CHARS and word not in STOPWORDS:
            found.add(word)
        if not word.isascii():
            for run in _UNSPACED.findall(word):
                found.update(character_pairs(run))
    return frozenset(found)


def recency_bonus(created_at: datetime, now: datetime) -> float:
    """Return ``min(1.0, 0.1 / max(hours, 0.1))``: 1.0 for the first six minutes, 0.1 after an hour.

    Source: WSP-09.2. A time in the future counts as now.
    """
    hours = (now - created_at).total_seconds() / _HOUR_S
    return min(1.0, 0.1 / max(hours, 0.1))


def relevance(memory: Note, message_words: frozenset[str], now: datetime) -> NoteRelevance:
    """Score one memory against the words of a message; without a shared word there is no bonus."""
    shared = words(memory.text) & message_words
    bonus = recency_bonus(memory.created_at, now) if shared else 0.0
    return NoteRelevance(memory=memory, words=shared, bonus=bonus)


def rank(memories: Iterable[Note], message: str, now: datetime) -> tuple[NoteRelevance, ...]:
    """Return the memories that share a word with a message, best first; ties: newest first.

    ``memories`` go from oldest to newest; ``message`` is the last user message.
    """
    message_words = words(message)
    if not message_words:
        return ()
    scored = [found for memory in memories if (found := relevance(memory, message_words, now)).words]
    scored.reverse()
    scored.sort(key=lambda found: -found.score)
    return tuple(scored)
