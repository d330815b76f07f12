"""How much a memory is worth keeping, read from its words. Pure.

A guess by rule, so that it costs nothing and can be explained: preferences and decisions count most, then
deadlines and lessons, then problems and who somebody is. English only; a text in another language gets what a plain
fact gets. Source: APP-16.1.
"""

import re
from dataclasses import dataclass
from typing import Final

from commonplace.apps.memories import MAX_IMPORTANCE
from commonplace.language.words import tokens

PLAIN_FACT: Final = 3.0

_SIGNALS: Final = tuple(
    (tag, points, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for tag, points, pattern in (
        (
            "preference",
            3.0,
            r"prefer\w*|likes?|dislikes?|hates?|loves?|wants?|always|never|usually|favou?rite",
        ),
        (
            "decision",
            2.5,
            r"decided?|decision|agreed|chose|chosen|settled on|will use|switch(?:ed|es)? to|approved",
        ),
        (
            "deadline",
            2.0,
            r"deadline|due|until|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}-\d\d-\d\d",
        ),
        ("lesson", 2.0, r"remember|important|lessons?|learn(?:ed|t)|note that|must|careful|avoid"),
        ("problem", 1.5, r"errors?|fail(?:s|ed|ure)?|bugs?|broken|crash\w*|outages?|issues?|problems?"),
        ("solution", 1.5, r"fix(?:ed|es)?|solved|resolved|solution|root cause|work ?around|caused by"),
        ("identity", 1.5, r"name is|named|called|works? (?:at|as|for|on)|lives? in|birthday|e-?mail"),
    )
)
_SMALL_TALK: Final = frozenset(
    """
    a afternoon all am and any are bye can cool day do else evening fine for good goodbye great have hello help
    here hey hi how i i'm in is it its it's me morning nice night no of ok okay please see soon sure thank
    thanks that that's the there to today very welcome well what with yeah yes you you're your anything
    assist assistance glad happy later much problem
    """.split()  # noqa: SIM905 - reads as a list of words does
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What a text is worth, 0.0 to 10.0, and the tags of what speaks for it; 0.0 is small talk."""

    importance: float
    tags: tuple[str, ...]


def assess(text: str) -> Assessment:
    """Score a text: 3 for a plain fact, more for each thing that makes it matter, 0 for small talk."""
    words = tokens(text)
    if not words or all(word in _SMALL_TALK for word in words):
        return Assessment(importance=0.0, tags=())
    found = [(tag, points) for tag, points, pattern in _SIGNALS if pattern.search(text)]
    score = PLAIN_FACT + sum(points for _, points in found)
    return Assessment(importance=min(MAX_IMPORTANCE, score), tags=tuple(tag for tag, _ in found))
