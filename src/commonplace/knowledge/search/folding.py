"""Fold what says the same: of equal texts and of facts of one key a reader is shown one. Pure."""

from collections.abc import Hashable, Sequence

from commonplace.core.text import collapse_whitespace
from commonplace.knowledge.facts import GLOBAL_SCOPE
from commonplace.knowledge.kinds import Fact
from commonplace.knowledge.search.found import Found


def folded(found: Sequence[Found], *, scoped: bool) -> list[Found]:
    """Return the results without repetitions, in their order.

    Of equal texts the first stays. If one scope was asked for, the newest of the facts of one subject and predicate
    stays, whether it is global or of that scope.
    """
    newest: dict[Hashable, Fact] = {}
    facts = [each.memory for each in found if scoped and isinstance(each.memory, Fact)]
    for fact in sorted(facts, key=lambda fact: (fact.created_at, fact.scope != GLOBAL_SCOPE)):
        newest[_key(fact)] = fact
    told: dict[Hashable, Found] = {}
    for each in found:
        if not isinstance(each.memory, Fact):
            told.setdefault(_said(each.memory.content), each)
        elif newest.get(_key(each.memory), each.memory) is each.memory:
            told.setdefault((_said(each.memory.subject), _said(each.memory.content)), each)
    return list(told.values())


def _key(fact: Fact) -> Hashable:
    return _said(fact.subject), _said(fact.predicate)


def _said(text: str) -> str:
    return collapse_whitespace(text).casefold()
