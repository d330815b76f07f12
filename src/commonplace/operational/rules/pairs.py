"""Pairs of texts that a person or a model decides in review."""

import hashlib
from collections.abc import Mapping
from typing import Final

from commonplace.judge import Verdict, tokens_of
from commonplace.operational.model.memories import Lesson
from commonplace.operational.model.reviews import Decision

VERDICT_OF: Final[Mapping[Decision, Verdict]] = {
    Decision.SAME: Verdict.SAME,
    Decision.REFINES: Verdict.REFINE,
    Decision.CORRECTS: Verdict.CORRECT,
    Decision.DISTINCT: Verdict.DISTINCT,
}
"""The judge's verdict with the same meaning as a decision."""


def pair_name(memory: Lesson, emitted: str) -> str:
    """Return the name of a pair of texts of one service and category, ignoring case and spacing."""
    texts = repr((tokens_of(memory.observation), tokens_of(emitted)))
    about = f"{(memory.service or '').lower()}:{memory.category}"
    return hashlib.sha256(f"{about}:{texts}".encode()).hexdigest()[:32]
