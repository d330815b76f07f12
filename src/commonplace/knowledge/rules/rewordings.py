"""Rewordings: of rules that say the same in other words, one is shown. Pure."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from commonplace.core.sources import RANKS
from commonplace.judge import Comparisons
from commonplace.knowledge.model.kinds import PINNED, Rule
from commonplace.knowledge.model.maturity import Maturity
from commonplace.knowledge.model.search_results import SearchResult

MOST_RULES: Final = 50
"""The maximum number of rules that are compared; the rules after them are beyond the end of a block."""


def without_rewordings(found: Sequence[SearchResult]) -> list[SearchResult]:
    """Return the results without the rules that a better rule says in other words, which names them, in their order."""
    rules = {each.memory.id: each.memory for each in found if isinstance(each.memory, Rule)}
    folded = rewordings(list(rules.values())) if len(rules) > 1 else {}
    if not folded:
        return list(found)
    return [
        each.standing_for(rules[other] for other, head in folded.items() if head.id == each.memory.id)
        for each in found
        if each.memory.id not in folded
    ]


def rewordings(rules: Sequence[Rule]) -> dict[UUID, Rule]:
    """Return the rule that is shown in place of each rule that only says it in other words, by the id of the latter.

    ``rules`` go from the best to the worst. A pinned rule comes before all others, and a trusted rule before a less
    trusted one. Pinned rules and warnings never fold, and no rule folds into one in quarantine, which blocks leave out.
    """
    heads: list[Rule] = []
    folded: dict[UUID, Rule] = {}
    comparisons = Comparisons()
    trusted = [rule for rule in rules if not rule.is_quarantined][:MOST_RULES]
    for rule in sorted(trusted, key=lambda rule: (PINNED not in rule.tags, -RANKS[rule.trust])):
        head = (
            None
            if _never_folds(rule)
            else comparisons.repeated(rule.content, [each.content for each in heads])
        )
        if head is None:
            heads.append(rule)
        else:
            folded[rule.id] = heads[head]
    return folded


def _never_folds(rule: Rule) -> bool:
    return PINNED in rule.tags or rule.maturity is Maturity.ANTI_PATTERN
