"""Candidates of a ranking for tests that need no database."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from commonplace.knowledge.model.candidates import Candidates
from commonplace.knowledge.model.kinds import MemoryType
from support.memories import NOW

EAST, NORTH = np.eye(384, dtype=np.float32)[:2]


def candidates(
    memories: Sequence[Mapping[str, Any]],
    *,
    words: Sequence[str] = ("rare", "common"),
    frequencies: Sequence[float] = (1, 400),
    total: int = 500,
) -> Candidates:
    """Return candidates; each memory may change the values of a turn that holds no word and means nothing.

    They are turns of one session in their order, unless they name a ``next_id`` of their own.
    """
    rows = [
        {
            "types": MemoryType.EPISODE,
            "ids": UUID(int=number),
            "next_ids": UUID(int=number + 1),
            "created_at": NOW,
            "similarity": 0.0,
            "present": (0,) * len(words),
            "octets": 40,
            "distinct_words": 5,
            "asks": 0,
            "own": 1,
            "importance": 5.0,
            "vectors": NORTH,
            **memory,
        }
        for number, memory in enumerate(memories, start=1)
    ]
    lists = ("types", "ids", "next_ids", "created_at")
    arrays = ("similarity", "present", "octets", "distinct_words", "asks", "own", "importance")
    columns: dict[str, Any] = {
        **{name: [row[name] for row in rows] for name in lists},
        **{name: np.array([row[name] for row in rows], np.float64) for name in arrays},
    }
    vectors = np.array([row["vectors"] for row in rows], np.float64)
    columns["products"] = np.array(
        [
            [float(vectors[at] @ vectors[at + by]) if at + by < len(rows) else 0.0 for by in range(5)]
            for at in range(len(rows))
        ]
    )
    return Candidates(
        words=tuple(words), frequencies=np.array(frequencies, np.float64), total=total, **columns
    )
