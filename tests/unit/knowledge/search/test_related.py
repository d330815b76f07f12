"""Places of related facts among the results of a search."""

import pytest

from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.search.graph_expansion import followed
from support.memories import a_fact

pytestmark = pytest.mark.requirement("LIF-02.3")


@pytest.mark.parametrize(
    ("direct", "related", "limit", "shown"),
    [
        (2, 3, 10, "ddrrr"),
        (10, 3, 10, "ddddddddrr"),
        (9, 1, 10, "dddddddddr"),
        (20, 3, 20, "d" * 17 + "rrr"),
        (4, 3, 4, "dddr"),
        (3, 3, 3, "ddd"),
        (1, 3, 1, "d"),
    ],
)
def test_related_facts_come_last_in_at_most_a_quarter_of_full_places(
    direct: int, related: int, limit: int, shown: str
) -> None:
    """Free places are theirs as well; a short list keeps its direct results."""
    found = SearchResult(memory=a_fact(), scores=Scores())
    led = SearchResult(memory=a_fact(), scores=Scores(), related_by=found.memory.id)
    told = followed([found] * direct, [led] * related, limit)
    assert "".join("d" if one.related_by is None else "r" for one in told) == shown
