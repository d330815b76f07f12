"""Helpfulness: how much a memory helps with a prompt, from the odds of the reranker and the likeness of both. Pure.

Likeness finds memories about the topic of a prompt; most of those do not help with it. The reranker has read both.

Source: SHW-04; the constants were chosen on the kept worlds (``benchmarks/recall.py --worlds kept``).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from commonplace.knowledge.rules.relevance import Relevance

LIKENESS_WEIGHT: Final = 1.0
"""How much likeness counts beside the odds."""

USUAL: Final = 0.0
"""Odds and likeness together of a memory that just helps."""

SHARE_OF_BEST: Final = 0.3
"""The minimum helpfulness of a memory, as a share of the best one."""


def helpful(judged: Sequence[Relevance], odds: Sequence[float], *, min_relevance: float) -> list[Relevance]:
    """Return the memories that help with a prompt, the most helpful first, with their helpfulness as relevance.

    Args:
        judged: The memories nearest to the prompt.
        odds: The logarithms of the odds that each of them helps.
        min_relevance: The minimum helpfulness of the best memory, from 0.0 to 1.0; 0.0 returns all.
    """
    read = [replace(each, relevance=_helpfulness(each, one)) for each, one in zip(judged, odds, strict=True)]
    best_first = sorted(read, key=lambda each: -each.relevance)
    if min_relevance <= 0.0 or not best_first:
        return best_first
    best = best_first[0].relevance
    if best < min_relevance:
        return []
    return [each for each in best_first if each.relevance >= SHARE_OF_BEST * best]


def _helpfulness(judged: Relevance, odds: float) -> float:
    return 1 / (1 + math.exp(USUAL - odds - LIKENESS_WEIGHT * judged.likeness))
