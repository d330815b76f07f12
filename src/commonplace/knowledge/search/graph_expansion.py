"""Facts one relation away from the facts that a recall or a search found.

For example, a topic mentions Anna, and a fact about Anna mentions her company. Facts about the company that are near
the topic follow all other results. Facts about entities that the topic itself mentions need no relation.
Source: LIF-02; ADR 0023 has the measurements.
"""

from collections.abc import Sequence
from typing import Final

from commonplace.knowledge.model.kinds import Fact
from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.rules.explanation import explain_related
from commonplace.knowledge.search.request import SearchRequest
from commonplace.knowledge.store.search_statements import related_queries
from commonplace.knowledge.store.statements import KnowledgeStatements

MOST_RELATED: Final = 3
"""The maximum number of facts that relations add."""

MOST_TOLD: Final = 10
"""The number of best facts whose relations are followed."""

RESERVED_SHARE: Final = 4
"""Related facts take at most one in this many places from direct results of a search."""

LEAST_SIMILARITY: Final = 0.2
"""The minimum cosine of a related fact with the topic."""

LEAST_OF_BEST: Final = 0.1
"""The minimum if the best fact mentions the entity: the topic is then often the relation, as in "Anna's employer"."""


async def find_related(
    sql: KnowledgeStatements, found: Sequence[SearchResult], request: SearchRequest, *, explain: bool
) -> list[SearchResult]:
    """Return facts about the entities that the found facts mention, the nearest to the topic first.

    Args:
        sql: The transaction of the recall or search.
        found: The results, the best first; none of them is returned again.
        request: The topic; without a vector, no fact is returned.
        explain: Whether to explain each result.

    Returns:
        At most three facts. After a recall, their composite score is that of the last result.
    """
    facts = [each.memory for each in found if isinstance(each.memory, Fact)]
    told = [fact.id for fact in facts[:MOST_TOLD] if fact.entity_id is not None]
    if request.vector is None or not told:
        return []
    rows = (
        await related_queries(request.form)
        .on(sql.connection)
        .related_facts(
            **request.parameters,
            told_ids=told,
            found_ids=[each.memory.id for each in found],
            most=MOST_RELATED,
            least=LEAST_SIMILARITY,
            least_of_best=LEAST_OF_BEST,
        )
    )
    composites = [each.scores.composite_score for each in found]
    lowest = min((score for score in composites if score is not None), default=None)
    related: list[SearchResult] = []
    for row in rows:
        fact, told_id = Fact.from_row(row, now=request.now), row["told_id"]
        scores = Scores(similarity=row["similarity"], composite_score=lowest)
        explanation = explain_related(fact, scores, told_id, now=request.now) if explain else None
        related.append(
            SearchResult(
                memory=fact,
                scores=scores,
                explanation=explanation,
                related_by=told_id,
            ).marked(is_stale=row["is_stale"])
        )
    return related


def followed(
    direct: Sequence[SearchResult], related: Sequence[SearchResult], limit: int
) -> list[SearchResult]:
    """Return direct results, then related facts, which take at most a quarter of the places from direct results.

    A search by meaning has no minimum, so its direct results fill every place, however far they are from the query.
    """
    kept = max(limit - len(related), limit - limit // RESERVED_SHARE)
    return [*direct[:kept], *related][:limit]
