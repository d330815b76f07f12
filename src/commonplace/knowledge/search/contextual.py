"""Episodes by what was said around them: the candidates from the database, ranked by :mod:`.ranking`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from commonplace.embedding.backend import EMBEDDING_DIMENSIONS
from commonplace.knowledge.search.explanation import explain_context
from commonplace.knowledge.search.ranking import QueryWord, Turn, rank_by_context
from commonplace.knowledge.search.request import SearchRequest, search_table
from commonplace.knowledge.search.statements import SearchTable
from commonplace.storage.database import Statements

SEEDS: Final = 40
"""How many episodes go on for their words, and how many for their meaning, before their neighbours join them."""

_NO_MEANING: Final[NDArray[np.float32]] = np.zeros(EMBEDDING_DIMENSIONS, np.float32)


async def search_by_context(
    sql: Statements, table: SearchTable, request: SearchRequest, *, explain: bool
) -> list[dict[str, Any]]:
    """Return the episodes that answer a request best, with ``contextual_score``; one round trip."""
    seeds = max(SEEDS, 2 * request.limit)
    pool = await search_table(
        sql, "contextual_candidates", table, replace(request, matches=seeds, neighbours=seeds)
    )
    if not pool:
        return []
    words = [
        QueryWord(word=word, rarity=rarity)
        for word, rarity in zip(pool[0]["words"] or (), pool[0]["rarities"] or (), strict=True)
    ]
    memories = {memory["id"]: memory for memory in pool}
    question = _meaning(request.vector)
    found: list[dict[str, Any]] = []
    for ranked in rank_by_context([_turn(row) for row in pool], words, question, limit=request.limit):
        memory = {name: memories[ranked.turn.id][name] for name in table.columns}
        memory["contextual_score"] = ranked.score
        if explain:
            memory["explanation"] = explain_context(memory, ranked, now=request.now)
        found.append(memory)
    return found


def _turn(row: Mapping[str, Any]) -> Turn:
    return Turn(
        id=row["id"],
        next_id=row["next_id"],
        created_at=row["created_at"],
        content=row["content"],
        distinct_words=row["distinct_words"] or 0,
        present=row["present"],
        vector=_meaning(row["embedding"]),
    )


def _meaning(vector: Vector | None) -> NDArray[np.float32]:
    return _NO_MEANING if vector is None else vector.to_numpy()
