"""Pairs of texts that a person or a model decides in review."""

import hashlib
from collections.abc import Mapping
from typing import Final

from commonplace.judge import PairVerdict, Verdict, tokens_of
from commonplace.operational.model.memories import Lesson

VERDICT_OF: Final[Mapping[PairVerdict, Verdict]] = {
    PairVerdict.SAME: Verdict.SAME,
    PairVerdict.REFINES: Verdict.REFINE,
    PairVerdict.CORRECTS: Verdict.CORRECT,
    PairVerdict.DISTINCT: Verdict.DISTINCT,
}
"""The judge's verdict with the same meaning as a decision."""


def pair_name(memory: Lesson, emitted: str) -> str:
    """Return the name of a pair of texts of one service and category, ignoring case and spacing."""
    texts = repr((tokens_of(memory.observation), tokens_of(emitted)))
    about = f"{(memory.service or '').lower()}:{memory.category}"
    return hashlib.sha256(f"{about}:{texts}".encode()).hexdigest()[:32]
