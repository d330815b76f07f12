"""The JSON of knowledge memory over REST."""

from uuid import UUID

import pytest

from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.web.rest.knowledge.shapes import FoundShape
from support.memories import a_fact


@pytest.mark.requirement("LIF-02.3")
def test_a_result_one_relation_away_names_the_fact_that_leads_to_it() -> None:
    """A direct result has null in the field."""
    led, direct = (
        FoundShape.model_validate(SearchResult(memory=a_fact(), scores=Scores(), related_by=told).to_json())
        for told in (UUID(int=7), None)
    )
    assert led.model_dump(mode="json", by_alias=True)["relatedBy"] == str(UUID(int=7))
    assert direct.related_by is None


@pytest.mark.parametrize("is_stale", [True, False])
def test_a_result_says_whether_its_source_changed(*, is_stale: bool) -> None:
    """The field is always there."""
    shown = FoundShape.model_validate(
        SearchResult(memory=a_fact(), scores=Scores(), is_stale=is_stale).to_json()
    ).model_dump(mode="json", by_alias=True)
    assert shown["isStale"] is is_stale


def test_a_result_of_a_search_by_context_has_its_score() -> None:
    """As the fused score of the mode hybrid."""
    found = SearchResult(memory=a_fact(), scores=Scores(contextual_score=0.5))
    assert FoundShape.model_validate(found.to_json()).contextual_score == 0.5
