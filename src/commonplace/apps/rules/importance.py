"""The importance of a memory, guessed from its words. Pure. Source: APP-16.1.

A rule costs nothing and can be explained; see :mod:`commonplace.language.importance_cues`.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from commonplace.apps.model.bounds import MAX_IMPORTANCE
from commonplace.apps.model.memories import Digest
from commonplace.language.dates import last_date
from commonplace.language.importance_cues import NOISE, VITAL, plain, signals_of
from commonplace.language.values import concepts

PLAIN_FACT: Final = 3.0
OVER: Final = 1.0
"""The worth of a memory whose dates have all passed."""

_RECURS: Final = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|birthday|jede[nrs]?|geburtstag|cada|todos|cumple\w*|chaque|tou[st]e?s)\b"
)
_LASTS: Final = re.compile(
    r"\b(?:since|as of|upgraded|moved|switched|changed|started|joined|renewed|signed|replaced|installed|diagnosed"
    r"|operated|married|born|retired|seit|umgezogen|gewechselt|umgestellt|begonnen|unterschrieben|operiert|verheiratet"
    r"|geboren|desde|mudado|mudo|cambiado|empezo|firmado|operad[oa]|casad[oa]|nacio|depuis|demenage|change|commence"
    r"|signe|opere\w*|marie\w*)\b"
)
"""Words of an event after which something still holds."""

_PASSED: Final = re.compile(
    r"^(?:(?:the |der |die |el |la |l'|le )?(?:user|customer|client|assistant|nutzer(?:in)?|kunde|kundin|usuari[oa]"
    r"|cliente?|utilisat\w+|he|she|they|it|er|sie|es|il|elle|ich|i|we|je) ?)?"
    r"(?:was|were|had|slept|ate|went|felt|saw|told|learnt|said|got|did|thought|found"
    r"|[a-z]{2,}[^e\W]ed(?= (?:a|an|the|that|whether|how|what|if|during|\d))"
    r"|war|hatte|ging|schlief|fand|fue|tuvo|estuvo|durmio|a [a-z]+e|etait|avait)\b"
)
"""Beginning of a sentence about something that is over."""

AGO: Final = -2.0
"""Worth of a sentence about the past that states no decision, health condition or constraint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The importance of a text, 0.0 to 10.0, and the tags that raise it; 0.0 is small talk."""

    importance: float
    tags: tuple[str, ...]


def assess(text: str) -> Assessment:
    """Score a text: 3 for a plain fact, more for each signal, 0 for small talk."""
    found = signals_of(text)
    tags = tuple(sorted(found.tags - NOISE))
    if not concepts(text) or ("courtesy" in found.tags and found.points <= 0):
        return Assessment(importance=0.0, tags=())
    worth = PLAIN_FACT + found.points
    if _is_over(text) and not found.tags & (VITAL | {"decision", "past"}):
        worth += AGO
    return Assessment(importance=min(MAX_IMPORTANCE, max(0.5, worth)), tags=tags)


def _is_over(text: str) -> bool:
    return bool(_PASSED.match(plain(text))) and not _LASTS.search(plain(text))


def standing(memory: Digest, now: datetime) -> tuple[int, float, datetime, int]:
    """Return the sort key for removal; the memory with the least key is removed first.

    Memories about health and safety are removed last, other constraints before them. After these, importance decides,
    then age. A memory whose dates have all passed is worth little, unless it is vital, recurs, or began something that
    still holds.
    """
    tags = signals_of(memory.content).tags
    rank = 2 if tags & {"health", "safety"} else 1 if tags & VITAL else 0
    scored = memory.metadata.importance
    worth = assess(memory.content).importance if scored is None else scored
    last = last_date(memory.content, memory.created_at.date())
    holds = any(words.search(plain(memory.content)) for words in (_RECURS, _LASTS))
    if rank == 0 and last is not None and last < now.date() and not holds:
        worth = min(worth, OVER)
    return rank, worth, memory.created_at, memory.id
