"""Candidates of a ranking: memories of one or more tables as arrays, with the columns that the ranking uses."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from commonplace.knowledge.model.kinds import MemoryType

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Memories to rank; entry ``n`` of each sequence and array belongs to memory ``n``.

    Attributes:
        words: The words of the query as the database stores words.
        frequencies: The number of memories with each word.
        total: The number of memories, at most 5,000 of each table.
        next_ids: The episode that follows in the session.
        created_at: Aware.
        similarity: Cosine with the query; 0.0 without vectors.
        present: 1.0 if the memory contains the word; a row for each memory, a column for each word.
        octets: Length of the text in UTF-8.
        asks: 1.0 if the text ends with a question mark.
        own: 1.0 for episodes, and for facts and rules that are not global.
        importance: 0.0 to 10.0.
        products: The products of the vector of an episode with itself and with the vectors of the next four turns;
            zeros for facts and rules, which have no neighbours.
    """

    words: tuple[str, ...]
    frequencies: Array
    total: int
    types: Sequence[MemoryType]
    ids: Sequence[UUID]
    next_ids: Sequence[UUID | None]
    created_at: Sequence[datetime]
    similarity: Array
    present: Array
    octets: Array
    distinct_words: Array
    asks: Array
    own: Array
    importance: Array
    products: Array
