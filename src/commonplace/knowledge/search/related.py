"""Facts one relation away from the facts that a recall or a search found.

A topic names Anna, and a fact about Anna names the company that she works for: facts about the company that are near
the topic follow all other results. The facts of entities that the topic names itself are found without a relation.
Source: LIF-02; ADR 0023 has the measurements.
"""

from collections.abc import Sequence
from typing import Final

from commonplace.knowledge.kinds import Fact
from commonplace.knowledge.search.explanation import explain_related
from commonplace.knowledge.search.found import Found, Scores
from commonplace.knowledge.search.request import SearchRequest, parameters
from commonplace.knowledge.search.statements import related_queries
from commonplace.storage.database import Statements

MOST_RELATED: Final = 3
"""Most facts that a relation adds."""

MOST_TOLD: Final = 10
"""The best facts whose relations are followed."""

RESERVED_SHARE: Final = 4
"""Related facts take at most one place in this many from the last direct results of a search."""

LEAST_SIMILARITY: Final = 0.2
"""Cosine with the topic that a related fact must have."""

LEAST_OF_BEST: Final = 0.1
"""The same if the best fact leads to it: then the topic is often the relation itself, as in "Anna's employer"."""


async def find_related(
    sql: Statements, found: Sequence[Found], request: SearchRequest, *, explain: bool
) -> list[Found]:
    """Return facts about the entities that the found facts name, the nearest to the topic first.

    Args:
        sql: The transaction of the recall or search.
        found: The results, the best first; none of them is returned again.
        request: The topic; without its vector, no fact is near it.
        explain: Whether to explain each result.

    Returns:
        At most three facts. After a recall, their composite score is that of the last result.
    """
    facts = [each.memory for each in found if isinstance(each.memory, Fact)]
    told = [fact.id for fact in facts[:MOST_TOLD] if fact.entity_id is not None]
    if request.vector is None or not told:
        return []
    rows = await Statements(related_queries(request.form), sql.connection).related_facts(
        **parameters(request)
        | {
            "told_ids": told,
            "found_ids": [each.memory.id for each in found],
            "most": MOST_RELATED,
            "least": LEAST_SIMILARITY,
            "least_of_best": LEAST_OF_BEST,
        }
    )
    composites = [each.scores.composite_score for each in found]
    lowest = min((score for score in composites if score is not None), default=None)
    related: list[Found] = []
    for row in rows:
        fact, told_id = Fact.from_row(row, now=request.now), row["told_id"]
        scores = Scores(similarity=row["similarity"], composite_score=lowest)
        explanation = explain_related(fact, scores, told_id, now=request.now) if explain else None
        related.append(
            Found(
                memory=fact,
                scores=scores,
                explanation=explanation,
                related_by=told_id,
            ).marked(is_stale=row["is_stale"])
        )
    return related


def followed(direct: Sequence[Found], related: Sequence[Found], limit: int) -> list[Found]:
    """Return direct results and then related facts, which take at most a quarter of the places from direct results.

    A search by meaning has no floor: its direct results fill every place, however far they are from the query.
    """
    kept = max(limit - len(related), limit - limit // RESERVED_SHARE)
    return [*direct[:kept], *related][:limit]
