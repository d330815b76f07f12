"""Score of a recalled memory: relevance, importance, recency and confidence, weighted. Pure.

Source: KNW-08, KNW-09, R-KNW-5.
"""

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.knowledge.model.bounds import DEFAULT_IMPORTANCE, MAX_IMPORTANCE
from commonplace.knowledge.model.config import ScoreWeights
from commonplace.knowledge.model.kinds import Fact, Memory, Rule

RRF_K: Final = 60
"""The constant of Reciprocal Rank Fusion. Source: KNW-07.3."""

RECENCY_HALF_LIFE_DAYS: Final = 7.0
_DAY_S: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A composite score and its parts, each part from 0.0 to 1.0 before its weight."""

    composite: float
    relevance: float
    importance: float
    recency: float
    confidence: float


def recency(last_referenced_at: datetime | None, now: datetime) -> float:
    """Return how recently a memory was used: 1.0 now, 0.5 a week ago, 0.0 never.

    A use in the future, after a jump of the clock, counts as now.
    """
    if last_referenced_at is None:
        return 0.0
    days = max(0.0, (now - last_referenced_at).total_seconds() / _DAY_S)
    return math.exp(-math.log(2) / RECENCY_HALF_LIFE_DAYS * days)


def score(memory: Fact | Rule, relevance: float, weights: ScoreWeights, now: datetime) -> Score:
    """Return the score of a fact or rule with a relevance from 0.0 to 1.0."""
    importance = memory.importance if isinstance(memory, Fact) else DEFAULT_IMPORTANCE  # R-KNW-5
    parts = {
        "relevance": relevance,
        "importance": importance / MAX_IMPORTANCE,
        "recency": recency(memory.last_referenced_at, now),
        "confidence": memory.effective_confidence,
    }
    composite = sum(getattr(weights, name) * value for name, value in parts.items())
    return Score(composite=composite, **parts)


def tie_break(memory: Memory) -> tuple[float, UUID]:
    """Return the sort key for memories with equal scores: the newest first, then by id.

    Source: KNW-34.1.
    """
    return (-memory.created_at.timestamp(), memory.id)
