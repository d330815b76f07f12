"""Digests that repeat each other, by the judge of all memories. Source: DIG-03, JDG-06."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from commonplace import judge
from commonplace.apps.model.memories import Digest
from commonplace.apps.rules.conflicts import MOST_READ_CHARS, newest_first
from commonplace.language.values import concepts, share, weight
from commonplace.llm.extractive import SPEAKER

LEAST_HELD: Final = 0.8
"""The share of its words from which a digest goes into one that refines it. Source: `benchmarks/conflicts.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A memory, and one that says nothing more."""

    kept: Digest
    gone: Digest


def find_repetition(memories: Sequence[Digest]) -> Repetition | None:
    """Return two memories of which one can go, the newest first; ``None`` if each says something of its own.

    The judge is certain that both say the same, or it joins them and one has nearly all words of the other.
    """
    pairs = list(newest_first(memories))
    texts = [(_as_one_text(older), _as_one_text(newer)) for older, newer in pairs]
    stances = judge.stances_of(texts, most_chars=MOST_READ_CHARS)
    for (older, newer), (stance, grounds) in zip(pairs, stances, strict=True):
        older_says_more = _weight(older) > _weight(newer)
        kept, gone = (older, newer) if older_says_more else (newer, older)
        is_joined = grounds is not None and grounds.verdict in {judge.Verdict.SAME, judge.Verdict.REFINE}
        if stance is judge.Stance.SAME or (is_joined and _holds(kept, gone)):
            return Repetition(kept=kept, gone=gone)
    return None


def _as_one_text(memory: Digest) -> str:
    """Return a content as sentences: of a text joined by semicolons, one part alone could make it a repetition."""
    return memory.content.removeprefix(SPEAKER).replace("; ", ". ")


def _weight(memory: Digest) -> float:
    return weight(concepts(memory.content))


def _holds(kept: Digest, gone: Digest) -> bool:
    return share(concepts(gone.content), concepts(kept.content)) >= LEAST_HELD
