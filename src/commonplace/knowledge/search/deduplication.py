"""Folding: of facts of one relation, or rules, with equal texts, and of facts with one key, one is shown. Pure."""

from collections.abc import Hashable, Sequence

from commonplace.core.sources import RANKS
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge.model.keys import plain_key
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, Episode, Fact, Memory, Rule
from commonplace.knowledge.search.results import SearchResult
from commonplace.knowledge.search.rewordings import without_rewordings


def folded(found: Sequence[SearchResult], *, scoped: bool) -> list[SearchResult]:
    """Return the results without repetitions, in their order.

    Of equal texts, the first stays. If a scope was requested, only the most trusted of the facts with one subject and
    predicate stays, and of equally trusted facts the newest, whether it is global or of that scope.
    Rules that say the same in other words fold too.
    """
    kept: dict[Hashable, Fact] = {}
    facts = [each.memory for each in found if scoped and isinstance(each.memory, Fact)]
    for fact in sorted(
        facts, key=lambda fact: (RANKS[fact.trust], fact.created_at, fact.scope != GLOBAL_SCOPE)
    ):
        kept[_key(fact)] = fact
    told: dict[Hashable, SearchResult] = {}
    for each in found:
        if not isinstance(each.memory, Fact) or kept.get(_key(each.memory), each.memory) is each.memory:
            told.setdefault(same_words(each.memory), each)
    return without_rewordings(list(told.values()))


def same_words(memory: Memory) -> Hashable:
    """Return a key that facts with one subject and predicate, or rules, share if their texts are equal.

    Ines likes peanuts, and Ines is allergic to peanuts: another predicate says another thing, whatever the text. Each
    episode has its own key.
    """
    match memory:
        case Episode():
            return memory.id
        case Fact():
            return memory.memory_type, *_key(memory), _said(memory.content)
        case Rule():
            return memory.memory_type, _said(memory.content)


def _key(fact: Fact) -> tuple[str, str]:
    return plain_key(fact.subject), plain_key(fact.predicate)


def _said(text: str) -> str:
    return collapse_whitespace(text).casefold()
