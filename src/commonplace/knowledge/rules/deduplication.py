"""Folding: facts of one relation, or rules, with equal texts, and facts with one key are shown as one. Pure.

The shown memory names the memories that it stands for. Pinned memories, and facts on which somebody's safety may
depend, are never folded into another memory.
"""

from collections.abc import Hashable, Iterable, Sequence

from commonplace.core.sources import RANKS
from commonplace.core.text import collapse_whitespace
from commonplace.knowledge.model.keys import plain_key
from commonplace.knowledge.model.kinds import GLOBAL_SCOPE, PINNED, Episode, Fact, Memory, Rule
from commonplace.knowledge.model.search_results import SearchResult
from commonplace.knowledge.rules.occasions import without_occasions
from commonplace.knowledge.rules.safety import is_safety


def folded(found: Sequence[SearchResult], *, scoped: bool) -> list[SearchResult]:
    """Return the results without repetitions, in their order; each names the memories that it stands for.

    Of equal texts, the first stays. If a scope was requested, only the most trusted of the facts with one subject and
    predicate stays, and of equally trusted facts the newest, whether it is global or of that scope. Memories that
    :func:`never_folds` stay as well, unless the other one is more trusted.
    """
    keys = [_pile(each.memory, scoped=scoped) for each in found]
    piles: dict[Hashable, list[SearchResult]] = {}
    for key, each in zip(keys, found, strict=True):
        piles.setdefault(key, []).append(each)
    heads = {key: _head(pile, scoped=scoped) for key, pile in piles.items()}
    lines: list[SearchResult] = []
    for key, each in zip(keys, found, strict=True):
        if len(piles[key]) == 1:
            lines.append(each)
        elif each is heads[key]:
            lines.append(each.standing_for(_hidden(piles[key], each)))
        elif _stays(each.memory, heads[key].memory):
            lines.append(each)
    return lines


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
            return memory.memory_type, _said(without_occasions(memory.content))


def never_folds(memory: Memory) -> bool:
    """Return whether a memory is never folded into another: it is pinned, or somebody's safety may depend on it."""
    if isinstance(memory, Episode):
        return True
    return PINNED in memory.tags or (isinstance(memory, Fact) and is_safety(memory))


def is_outranked(memory: Memory, other: Memory) -> bool:
    """Return whether a fact is less trusted than another, so that it has no place beside it."""
    if not isinstance(memory, Fact) or not isinstance(other, Fact):
        return False
    return RANKS[memory.trust] < RANKS[other.trust]


def _stays(memory: Memory, head: Memory) -> bool:
    """Return whether a memory has a line beside the one of its pile."""
    return never_folds(memory) and not is_outranked(memory, head)


def _pile(memory: Memory, *, scoped: bool) -> Hashable:
    return _key(memory) if scoped and isinstance(memory, Fact) else same_words(memory)


def _head(pile: Sequence[SearchResult], *, scoped: bool) -> SearchResult:
    """Return the result that stands for the others of its pile."""
    if not scoped or len(pile) == 1:
        return pile[0]
    facts = [(each, each.memory) for each in reversed(pile) if isinstance(each.memory, Fact)]
    if not facts:
        return pile[0]
    return max(facts, key=lambda each: _standing(each[1]))[0]


def _standing(fact: Fact) -> tuple[object, ...]:
    return RANKS[fact.trust], fact.created_at, fact.scope != GLOBAL_SCOPE


def _hidden(pile: Iterable[SearchResult], head: SearchResult) -> Iterable[Memory]:
    for each in pile:
        if each is not head and not _stays(each.memory, head.memory):
            yield each.memory
            yield from each.stands_for


def _key(fact: Fact) -> tuple[str, str]:
    return plain_key(fact.subject), plain_key(fact.predicate)


def _said(text: str) -> str:
    return collapse_whitespace(text).casefold()
