"""Helpfulness: how much a memory helps with a prompt, from the odds of the reranker, likeness and importance. Pure.

Likeness finds memories about the topic of a prompt; most of those do not help with it. The reranker has read both.

Source: SHW-04; the constants were chosen on the kept worlds (``benchmarks/recall.py --worlds kept``).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE
from commonplace.knowledge.rules.relevance import Relevance

LIKENESS_WEIGHT: Final = 4.0
"""How much likeness counts beside the odds."""

IMPORTANCE_WEIGHT: Final = 0.3
"""How much a point of importance counts beside the odds."""

USUAL: Final = 0.18
"""The sum of these for a memory that helps as much as not, which has the helpfulness 0.5."""

BEHIND_BEST: Final = 6.0
"""The maximum distance to the best memory, as the logarithm of odds."""


class Reading(NamedTuple):
    """The logarithm of the odds that a memory helps with a prompt, and the memory's importance."""

    odds: float
    importance: float


def helpful(
    judged: Sequence[Relevance], readings: Sequence[Reading], *, min_relevance: float
) -> list[Relevance]:
    """Return the memories that help with a prompt, the most helpful first; for their relevance see :func:`by_help`.

    Args:
        judged: The memories nearest to the prompt.
        readings: The odds and the importance of each of them.
        min_relevance: The minimum helpfulness of the best memory, from 0.0 to 1.0; 0.0 returns all.
    """
    ranked = by_help(judged, readings)
    if min_relevance <= 0.0 or not ranked:
        return ranked
    scores = {each.place: score for each, score in zip(judged, _scores(judged, readings), strict=True)}
    best = max(scores.values())
    if _helpfulness(best) < min_relevance:
        return []
    return [each for each in ranked if scores[each.place] >= best - BEHIND_BEST]


def by_help(judged: Sequence[Relevance], readings: Sequence[Reading]) -> list[Relevance]:
    """Return memories by how much they help with a prompt, the most helpful first.

    The relevance of a memory becomes its odds of helping as a share of the best one's, times its normalised fused rank.

    Args:
        judged: The memories, the most alike first.
        readings: The odds and the importance of the first of them; the others follow in their order.
    """
    if not readings:
        return list(judged)
    scores = _scores(judged, readings)
    best, fused = max(scores), max(each.rrf_score for each in judged)
    read = [
        (score, replace(each, relevance=each.rrf_score / fused * math.exp(score - best)))
        for score, each in zip(scores, judged, strict=False)
    ]
    ranked = [each for _, each in sorted(read, key=lambda pair: -pair[0])]
    least = min(each.relevance for each in ranked)
    return [*ranked, *(replace(each, relevance=least * each.relevance) for each in judged[len(readings) :])]


def _scores(judged: Sequence[Relevance], readings: Sequence[Reading]) -> list[float]:
    """Return the logarithm of the odds that each memory helps, from its reading, its likeness and its importance."""
    return [
        reading.odds
        + LIKENESS_WEIGHT * each.likeness
        + IMPORTANCE_WEIGHT * (reading.importance - DEFAULT_IMPORTANCE)
        - USUAL
        for each, reading in zip(judged, readings, strict=False)
    ]


def _helpfulness(score: float) -> float:
    return 1 / (1 + math.exp(-score))
