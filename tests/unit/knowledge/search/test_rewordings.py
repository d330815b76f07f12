"""Rules that say the same in other words."""

from dataclasses import replace
from uuid import UUID

import pytest

from commonplace.core.sources import Source
from commonplace.judge import Verdict
from commonplace.knowledge.model.kinds import PINNED, Rule
from commonplace.knowledge.model.maturity import Maturity
from commonplace.knowledge.model.search_results import Scores, SearchResult
from commonplace.knowledge.rules.rewordings import rewordings, without_rewordings
from support.judging import both_ways, decide
from support.memories import a_fact, a_rule

NEVER, REWORDED, AFTER = (
    "Never deploy on Fridays",
    "Don't deploy on Fridays",
    "Deploy on Fridays after 14:00",
)


@pytest.fixture(autouse=True)
def verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two texts say the same."""
    decide(monkeypatch, both_ways(Verdict.SAME, NEVER, REWORDED))


def rules(*texts: str) -> list[Rule]:
    """Return rules from the best to the worst, with ids that count from 0."""
    return [a_rule(id=UUID(int=place), content=text) for place, text in enumerate(texts)]


def folded(found: list[Rule]) -> dict[int, int]:
    """Return the number of the rule that is shown, by the number of each rule that is not."""
    return {each.int: rule.id.int for each, rule in rewordings(found).items()}


@pytest.mark.requirement("TRU-05.3")
def test_the_best_wording_is_shown() -> None:
    """Facts and other rules keep their places; the opposite never folds."""
    assert folded(rules(NEVER, AFTER, REWORDED)) == {2: 0}
    found = [*rules(NEVER, AFTER, REWORDED), a_fact(content=REWORDED)]
    results = [SearchResult(memory=memory, scores=Scores()) for memory in found]
    best = results[0].standing_for([results[2].memory])
    assert without_rewordings(results) == [best, results[1], results[3]]
    assert best.stands_for == (results[2].memory,)


@pytest.mark.requirement("TRU-05.3")
def test_pins_and_warnings_stay() -> None:
    """A rule folds into a pinned one, wherever the pinned one is."""
    first, second = rules(NEVER, REWORDED)
    assert folded([first, replace(second, tags=(PINNED,))]) == {0: 1}
    assert folded([replace(first, tags=(PINNED,)), replace(second, tags=(PINNED,))]) == {}
    assert folded([first, replace(second, maturity=Maturity.ANTI_PATTERN)]) == {}


@pytest.mark.requirement("TRU-05.3")
def test_the_more_trusted_wording_is_shown() -> None:
    """However well the other one fits the prompt."""
    first, second = rules(NEVER, REWORDED)
    assert folded([replace(first, trust=Source.AGENT), replace(second, trust=Source.PERSON)]) == {0: 1}


@pytest.mark.requirement("TRU-05.3")
def test_no_rule_folds_into_one_in_quarantine() -> None:
    """A block leaves that one out, and would show neither."""
    first, second = rules(NEVER, REWORDED)
    flagged = replace(first, flags=("addresses_model",), trust=Source.WEB)
    assert folded([flagged, second]) == {}
    assert folded([replace(flagged, trust=Source.PERSON), second]) == {1: 0}
