"""Relevance of facts and rules for a topic, and the floor below which a memory is not shown. Pure.

The likeness of a memory is absolute: its cosine with the topic, and the rarity of the words that both hold. It decides
whether a memory is shown. The relevance ranks the shown memories: the fused rank as a share of the best one, times a
factor that falls with the distance to the best likeness. Without this factor, the first and the thirtieth memory differ
by 0.12 only, so importance and the latest use would decide.

Source: KNW-08.1; the constants were chosen on worlds of prompts and on PrecisionMemBench (ADR 0010, ADR 0036).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from commonplace.knowledge.model.candidates import Array, Candidates
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.rules.ranking import best_first
from commonplace.knowledge.rules.scoring import RRF_K

SAME_COSINE: Final = 0.7
"""The cosine that counts as the same topic, 1.0."""

WORDS_WEIGHT: Final = 0.25
COMMON_WORD: Final = 0.65
"""The weight of a word that is common in English, or a number, as a share of its rarity."""

SHARE_OF_BEST: Final = 0.5
"""The minimum likeness of a memory, as a share of the best likeness."""

OTHER_TOPIC: Final = 0.5
"""The minimum likeness of a memory with a word of the topic that the best memory lacks. A prompt may have two topics,
and a good match for one topic must not hide the other."""

OTHER_WORD: Final = 0.6
"""The minimum weight of such a word."""

CODE_WEIGHT: Final = 0.55
"""The minimum weight of a number or code that can be the whole topic, such as "6432"."""

LEAST_LIKENESS: Final = 0.15
"""The minimum likeness of every memory, whatever its allowances."""

RULE_ALLOWANCE: Final = 0.2
"""Added to the likeness of rules for the minimum: a rule and a prompt describe a situation in different words."""

OWN_ALLOWANCE: Final = 0.1
"""Added to the likeness of memories of the requested scope, which were stored for such prompts."""

IMPORTANCE_ALLOWANCE: Final = 0.03
"""Added to the likeness for each point of importance above 5."""

SPREAD: Final = 0.2
"""A memory that is less alike than the best one by this much has a relevance of at most 0.37, whatever its rank."""

LEAST_SHOWN: Final = 10
"""If more memories are above the floor than the limit or this number, the most similar are kept. This choice ignores
how recently a memory was used, so that a use never displaces the memories that it belongs to."""

DEPTH: Final = 60
"""Places of each list that are told apart; the same for every limit, so that the best result is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """The relevance of one candidate.

    Attributes:
        place: The place among the candidates.
        likeness: With the topic, absolute: 0.0 is nothing in common, 1.0 the same topic, more with rare words.
        relevance: 0.0 to 1.0, for the composite score.
        similarity: Cosine with the topic; ``None`` without vectors.
        semantic_rank: Place by meaning, from 1; ``DEPTH + 1`` for those behind.
        keyword_rank: Place by words, likewise.
        rrf_score: Fusion of both places.
    """

    place: int
    likeness: float
    relevance: float
    similarity: float | None
    semantic_rank: int
    keyword_rank: int
    rrf_score: float


def relevant(
    candidates: Candidates, *, min_relevance: float, scoped: bool, by_meaning: bool, limit: int
) -> list[Relevance]:
    """Return the relevance of the candidates that are alike enough to be shown, the most alike first.

    Args:
        candidates: Facts and rules.
        min_relevance: The minimum likeness of the best candidate; 0.0 returns all candidates.
        scoped: Whether one scope was requested.
        by_meaning: Whether there are vectors; words alone do not show how alike the best candidate is.
        limit: The number of results that the caller requested.
    """
    alike, words = _likeness(candidates)
    semantic = _places(candidates.similarity, candidates, counts=np.full(len(words), by_meaning))
    keyword = _places(words, candidates, counts=words > 0)
    fused = 1 / (RRF_K + semantic) + 1 / (RRF_K + keyword)
    relevance = fused / fused.max() * np.exp((alike - alike.max()) / SPREAD)
    shown = above_floor(candidates, min_relevance=min_relevance, scoped=scoped, by_meaning=by_meaning)
    return [
        Relevance(
            place=place,
            likeness=float(alike[place]),
            relevance=float(relevance[place]),
            similarity=float(candidates.similarity[place]) if by_meaning else None,
            semantic_rank=int(semantic[place]),
            keyword_rank=int(keyword[place]),
            rrf_score=float(fused[place]),
        )
        for place in shown[: max(LEAST_SHOWN, limit)]
    ]


def above_floor(candidates: Candidates, *, min_relevance: float, scoped: bool, by_meaning: bool) -> list[int]:
    """Return the places of the candidates that are alike enough to be shown, the most alike first.

    For the parameters see :func:`relevant`.
    """
    alike, words = _likeness(candidates)
    lenient = (
        alike + _allowances(candidates, scoped=scoped) + IMPORTANCE_ALLOWANCE * (candidates.importance - 5.0)
    )
    best_first_places = best_first(np.round(lenient, 9), candidates)
    if min_relevance <= 0.0:
        return best_first_places
    best = float(alike.max())
    is_like = best >= min_relevance or _holds_the_topic(candidates)
    if not (is_like if by_meaning else words.any()):
        return []
    share = SHARE_OF_BEST * best
    least = np.where(_adds_a_word(candidates, int(alike.argmax())), min(share, OTHER_TOPIC), share)
    shown = (lenient >= least) & ((alike >= LEAST_LIKENESS) | (not by_meaning))
    return [place for place in best_first_places if shown[place]]


def _holds_the_topic(candidates: Candidates) -> bool:
    """Return whether a memory has every word of the topic, and one of them is a rare number or code.

    A lone number has a low cosine with any sentence.
    """
    has_code = any(
        weight >= CODE_WEIGHT and any(map(str.isdigit, word))
        for word, weight in zip(candidates.words, _weights(candidates), strict=True)
    )
    return has_code and bool(candidates.present.all(axis=1).any())


def _adds_a_word(candidates: Candidates, best: int) -> NDArray[np.bool_]:
    """Return which candidates have a rare word of the topic that the best candidate lacks."""
    missing = (1.0 - candidates.present[best]) * _weights(candidates)
    return (candidates.present * missing >= OTHER_WORD).any(axis=1)


def likeness(similarity: Array, words: Array) -> Array:
    """Return the likeness of memories and a topic, from their cosine and the weight of their common words."""
    return np.clip(similarity / SAME_COSINE, 0.0, 1.0) + WORDS_WEIGHT * words


def _likeness(candidates: Candidates) -> tuple[Array, Array]:
    """Return the likeness of each candidate, and what its words give of it before their weight."""
    words = candidates.present @ _weights(candidates)
    return likeness(candidates.similarity, words), words


def _allowances(candidates: Candidates, *, scoped: bool) -> Array:
    rules = np.array([each is MemoryType.RULE for each in candidates.types], np.float64)
    return RULE_ALLOWANCE * rules + (OWN_ALLOWANCE * candidates.own if scoped else 0.0)


def _places(scores: Array, candidates: Candidates, *, counts: NDArray[np.bool_]) -> Array:
    places = np.full(len(scores), DEPTH + 1.0)
    counted = np.where(counts, np.round(scores, 9), scores.min() - 1.0)
    best = best_first(counted, candidates, most=min(DEPTH, int(counts.sum())))
    for place, at in enumerate(best, start=1):
        places[at] = place
    return places


def _weights(candidates: Candidates) -> Array:
    return weights(candidates.words, candidates.frequencies, candidates.total)


def weights(words: Sequence[str], frequencies: Array, total: int) -> Array:
    """Return the weight of each word of the topic: how rare it is among the memories, less for common words."""
    total += 1
    rarity = np.log(total / np.minimum(frequencies + 0.5, total)) / np.log(max(2, total))
    common = np.array([COMMON_WORD if is_common(word) else 1.0 for word in words])
    return rarity * common


def is_common(word: str) -> bool:
    """Return whether a stem is common in English, or a number."""
    return word.isdigit() or word in _common_words()


@cache
def _common_words() -> frozenset[str]:
    """Return the stems of the 2,000 most common words of English, as the vocabulary of MiniLM orders them."""
    return frozenset(Path(__file__).with_name("common_words.txt").read_text(encoding="ascii").split())
