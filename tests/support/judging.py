"""Verdicts that a test decides: what a memory does with one must not depend on what the judge learned."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray

from commonplace.judge import Verdict, judge
from commonplace.judge.network import PairNetwork, open_network
from commonplace.operational.memory import OperationalMemory
from support.streams import chunks, session

Chances = tuple[float, float, float, float]

CHANCES: Mapping[Verdict, Chances] = {
    Verdict.SAME: (0.97, 0.01, 0.01, 0.01),
    Verdict.REFINE: (0.01, 0.97, 0.01, 0.01),
    Verdict.CORRECT: (0.01, 0.01, 0.97, 0.01),
    Verdict.DISTINCT: (0.01, 0.01, 0.01, 0.97),
    Verdict.DOUBTFUL: (0.02, 0.02, 0.56, 0.4),
}
"""Probabilities of same, refine, correct and distinct that give each verdict."""

Decided = Mapping[tuple[str, str], Verdict | Chances]
"""A verdict, or the probabilities, of pairs of an older and a newer text."""


def both_ways(verdict: Verdict, one: str, other: str) -> Decided:
    """Return the decision of two texts whichever of them is newer."""
    return {(one, other): verdict, (other, one): verdict}


class DecidedNetwork(PairNetwork):
    """The judge's network, except for the pairs that a test decides."""

    def __init__(self, decided: Decided) -> None:
        self._decided = decided

    def pieces(self, texts: Sequence[str]) -> list[frozenset[int]]:
        """Return the pieces of words of each text."""
        return open_network().pieces(texts)

    def chances(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Return the probabilities of each pair."""
        found = open_network().chances(pairs)
        for row, pair in enumerate(pairs):
            if pair in self._decided:
                decision = self._decided[pair]
                found[row] = CHANCES[decision] if isinstance(decision, Verdict) else decision
        return found


def decide(monkeypatch: pytest.MonkeyPatch, decided: Decided) -> None:
    """Decide pairs for the rest of a test."""
    network = DecidedNetwork(decided)
    monkeypatch.setattr(judge, "opens", lambda: network)


@contextmanager
def deciding(decided: Decided) -> Iterator[None]:
    """Decide pairs within a block."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        decide(monkeypatch, decided)
        yield


async def make_pair_wait(memory: OperationalMemory, old: str, new: str, *, service: str = "redis") -> None:
    """Let an agent emit two observations in two sessions, the second of which may correct the first."""
    with deciding({(old, new): Verdict.DOUBTFUL}):
        for number, text in enumerate((old, new)):
            data = session(f"[MEMORY:behavior:{service}] {text}", session_id=f"{service}-{number}")
            await memory.ingest(chunks(data))
