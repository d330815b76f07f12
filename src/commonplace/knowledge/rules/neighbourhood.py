"""Scores from an entity's facts and a caller's hints. Pure.

If two people are called Kim and the topic is chess, the person whose facts mention chess scores higher.
Source: KNW-17.5, KNW-17.6.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import clean_text
from commonplace.knowledge.model.entity_names import fold_name
from commonplace.knowledge.model.inputs import require_id
from commonplace.language.scripts import character_pairs

MAX_BOOST: Final = 20.0
"""The boost when an entity's facts and the hints share every keyword. Source: KNW-17.5."""

MAX_FACTS: Final = 500
"""Maximum number of facts read per candidate, newest first. Source: KNW-17.5."""

MAX_HINT_CHARS: Final = 2000
MAX_MENTIONED: Final = 100

_HINTS: Final = ("topic", "mentioned_with", "domain_scores")
_MIN_KEYWORD_CHARS: Final = 3
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]{2,}")
_STOPWORDS: Final = frozenset(
    """
    about after all also and any are because been before but can could did does for from had has have her him his
    how into its just more most not now one only other our out over she should some such than that the their them
    then there these they this those was were what when where which while who will with would you your
    """.split()  # noqa: SIM905 - a list of words reads best as words
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextHints:
    """A caller's hints about the entity.

    Attributes:
        terms: Keywords of the topic and of the names mentioned with the entity.
        domain_scores: The caller's own points by entity.
    """

    terms: frozenset[str]
    domain_scores: Mapping[UUID, float]


def keywords(text: str) -> frozenset[str]:
    """Return the folded words of a text that are not stop words.

    Words have at least three characters. Chinese, Japanese and Korean do not separate words, so each pair of
    neighbouring characters is also a word.
    """
    found: set[str] = set()
    for word in _WORD.findall(fold_name(text)):
        if len(word) >= _MIN_KEYWORD_CHARS and word not in _STOPWORDS:
            found.add(word)
        for run in _UNSPACED.findall(word):
            found.update(character_pairs(run))
    return frozenset(found)


def neighbourhood_boost(texts: Iterable[str], terms: frozenset[str]) -> float:
    """Return the Jaccard overlap of an entity's keywords and the hints, scaled to :data:`MAX_BOOST`.

    Args:
        texts: Predicates and contents of the entity's facts.
        terms: Keywords of the hints.
    """
    known = frozenset[str]().union(*(keywords(text) for text in texts))
    either = known | terms
    return MAX_BOOST * len(known & terms) / len(either) if either else 0.0


def require_hints(value: object) -> ContextHints:
    """Return a caller's hints; empty hints for ``None``.

    Args:
        value: A dict with any of ``topic`` (a text), ``mentioned_with`` (a text or a list of texts) and
            ``domain_scores`` (points by entity id).

    Raises:
        InvalidInputError: The value is malformed or has an unknown key.
    """
    if value is None:
        return ContextHints(terms=frozenset(), domain_scores={})
    if not isinstance(value, dict):
        raise InvalidInputError("context_hints", f"an object with any of {', '.join(_HINTS)}", value)
    hints = cast("dict[Any, Any]", value)
    if unknown := [key for key in hints if key not in _HINTS]:
        raise InvalidInputError("context_hints", f"no keys but {', '.join(_HINTS)}", unknown[0])
    texts = [*_texts(hints, "topic", most=1), *_texts(hints, "mentioned_with", most=MAX_MENTIONED)]
    return ContextHints(
        terms=frozenset[str]().union(*map(keywords, texts)),
        domain_scores=_domain_scores(hints.get("domain_scores")),
    )


def _texts(hints: dict[Any, Any], key: str, *, most: int) -> list[str]:
    value: object = hints.get(key)
    if value is None:
        return []
    texts = cast("list[object]", value) if most > 1 and isinstance(value, list) else [value]
    kept = [clean_text(text) for text in texts if isinstance(text, str) and len(text) <= MAX_HINT_CHARS]
    if len(texts) > most or len(kept) < len(texts):
        several = f", or a list of up to {most} of them" if most > 1 else ""
        expected = f"text of at most {MAX_HINT_CHARS} characters{several}"
        raise InvalidInputError(f"context_hints.{key}", expected, cast("object", value))
    return kept


def _domain_scores(value: object) -> dict[UUID, float]:
    field = "context_hints.domain_scores"
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidInputError(field, "an object of numbers by entity id", value)
    scores: dict[UUID, float] = {}
    for key, score in cast("dict[Any, Any]", value).items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not _is_finite(score):
            raise InvalidInputError(field, "a finite number for each entity id", score)
        scores[require_id(key, field=field)] = float(score)
    return scores


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False
