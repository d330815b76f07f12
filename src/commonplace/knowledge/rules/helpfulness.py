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
    """Return the memories that help with a prompt, the most helpful first, with their helpfulness as relevance.

    Args:
        judged: The memories nearest to the prompt.
        readings: The odds and the importance of each of them.
        min_relevance: The minimum helpfulness of the best memory, from 0.0 to 1.0; 0.0 returns all.
    """
    scores = [_score(each, reading) for each, reading in zip(judged, readings, strict=True)]
    best_first = sorted(zip(scores, judged, strict=True), key=lambda each: -each[0])
    read = [(score, replace(each, relevance=_share(score))) for score, each in best_first]
    if min_relevance > 0.0 and read:
        best, first = read[0]
        is_enough = first.relevance >= min_relevance
        read = [each for each in read if is_enough and each[0] >= best - BEHIND_BEST]
    return [each for _, each in read]


def _score(judged: Relevance, reading: Reading) -> float:
    importance = IMPORTANCE_WEIGHT * (reading.importance - DEFAULT_IMPORTANCE)
    return reading.odds + LIKENESS_WEIGHT * judged.likeness + importance - USUAL


def _share(score: float) -> float:
    return 1 / (1 + math.exp(-score))
