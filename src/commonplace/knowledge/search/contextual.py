"""Episodes by what was said around them: the candidates from the database, ranked by :mod:`.ranking`."""

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pgvector import Vector

from commonplace.embedding.backend import EMBEDDING_DIMENSIONS
from commonplace.knowledge.search.explanation import explain_context
from commonplace.knowledge.search.found import Found, Scores
from commonplace.knowledge.search.ranking import QueryWord, Turn, rank_by_context
from commonplace.knowledge.search.request import SearchRequest, select
from commonplace.knowledge.search.statements import SearchTable
from commonplace.storage.database import Row, Statements

SEEDS: Final = 40
"""How many episodes go on for their words, and how many for their meaning, before their neighbours join them."""

_NO_MEANING: Final[NDArray[np.float32]] = np.zeros(EMBEDDING_DIMENSIONS, np.float32)


async def search_by_context(
    sql: Statements, table: SearchTable, request: SearchRequest, *, explain: bool
) -> list[Found]:
    """Return the episodes that answer a request best, the best first; one round trip."""
    seeds = max(SEEDS, 2 * request.limit)
    pool = await select(
        sql, "contextual_candidates", table, replace(request, matches=seeds, neighbours=seeds)
    )
    if not pool:
        return []
    words = [
        QueryWord(word=word, rarity=rarity)
        for word, rarity in zip(pool[0]["words"] or (), pool[0]["rarities"] or (), strict=True)
    ]
    rows = {row["id"]: row for row in pool}
    question = _meaning(request.vector)
    found: list[Found] = []
    for ranked in rank_by_context([_turn(row) for row in pool], words, question, limit=request.limit):
        scores = Scores(contextual_score=ranked.score)
        found.append(
            Found(
                memory=table.noun.from_row(rows[ranked.turn.id], now=request.now),
                scores=scores,
                explanation=explain_context(scores, ranked) if explain else None,
            )
        )
    return found


def _turn(row: Row) -> Turn:
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
