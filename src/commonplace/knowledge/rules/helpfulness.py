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

USUAL: Final = 0.18
"""The score of a memory with the helpfulness 0.5."""

BEHIND_BEST: Final = 6.0
"""The maximum distance to the best memory, as the logarithm of odds."""


class Reading(NamedTuple):
    """The logarithm of the odds that a memory helps with a prompt, and the memory's importance."""

    odds: float
    importance: float


class HelpWeights(NamedTuple):
    """The weights of likeness and of a point of importance beside the odds; ``usual`` is subtracted from the sum."""

    likeness: float
    importance: float
    usual: float


LEARNED: Final = HelpWeights(likeness=4.0, importance=0.3, usual=USUAL)
"""For the learned network."""

ODDS_ALONE: Final = HelpWeights(likeness=0.0, importance=0.0, usual=0.0)
"""For other networks: no weights were fitted to their odds."""


def helpful(
    relevances: Sequence[Relevance],
    readings: Sequence[Reading],
    weights: HelpWeights = LEARNED,
    *,
    min_relevance: float,
) -> list[Relevance]:
    """Return the memories that help with a prompt, the most helpful first; for their relevance see :func:`by_help`.

    Args:
        relevances: The memories nearest to the prompt.
        readings: The odds and the importance of each of them.
        weights: The weights of likeness and importance.
        min_relevance: The minimum helpfulness of the best memory, from 0.0 to 1.0; 0.0 returns all.
    """
    ranked = by_help(relevances, readings, weights)
    if min_relevance <= 0.0 or not ranked:
        return ranked
    scores = {
        each.place: score
        for each, score in zip(relevances, _scores(relevances, readings, weights), strict=True)
    }
    best = max(scores.values())
    if _helpfulness(best) < min_relevance:
        return []
    return [each for each in ranked if scores[each.place] >= best - BEHIND_BEST]


def by_help(
    relevances: Sequence[Relevance], readings: Sequence[Reading], weights: HelpWeights = LEARNED
) -> list[Relevance]:
    """Return memories by how much they help with a prompt, the most helpful first.

    The relevance of a memory becomes its odds of helping as a share of the best one's, times its normalised fused rank.

    Args:
        relevances: The memories, the most alike first.
        readings: The odds and the importance of the first memories; memories without a reading follow in their order.
        weights: The weights of likeness and importance.
    """
    if not readings:
        return list(relevances)
    scores = _scores(relevances, readings, weights)
    best, best_rrf = max(scores), max(each.rrf_score for each in relevances)
    pairs = [
        (score, replace(each, relevance=each.rrf_score / best_rrf * math.exp(score - best)))
        for score, each in zip(scores, relevances, strict=False)
    ]
    ranked = [each for _, each in sorted(pairs, key=lambda pair: -pair[0])]
    least = min(each.relevance for each in ranked)
    return [
        *ranked,
        *(replace(each, relevance=least * each.relevance) for each in relevances[len(readings) :]),
    ]


def _scores(
    relevances: Sequence[Relevance], readings: Sequence[Reading], weights: HelpWeights
) -> list[float]:
    """Return the logarithm of the odds that each memory helps, from its reading, its likeness and its importance."""
    return [
        reading.odds
        + weights.likeness * each.likeness
        + weights.importance * (reading.importance - DEFAULT_IMPORTANCE)
        - weights.usual
        for each, reading in zip(relevances, readings, strict=False)
    ]


def _helpfulness(score: float) -> float:
    return 1 / (1 + math.exp(-score))
