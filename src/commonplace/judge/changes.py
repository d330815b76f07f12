"""State changes: phrases that say that an earlier state has ended.

Source: OPS-10.1, R-OPS-5.
"""

import re
from bisect import bisect
from collections.abc import Sequence
from typing import Final

from commonplace.language.stems import stem

NO_LONGER: Final = "no longer"
"""A denial worded as a change; it is a change only if the old text affirms the same."""

_ADVERB: Final = r"(?:\w+ly\s|now\s|since\s|long\s|all\s|just\s)?"
_DONE: Final = (
    r"remov\w+|deleted|fixed|solved|resolved|repaired|cured|retired|decommissioned|disabled|lifted|dropped|dismantled|"
    r"reverted|undone|rolled back|replaced|renamed|moved|migrated|relocated|transferred|switched|swapped|abolished|"
    r"discontinued|superseded|withdrawn|cancell?ed|revoked|deprecated|scrapped|phased out|torn down|"
    r"taken (?:out|down|off|away)|turned off|shut down|eliminated|corrected|upgraded|downgraded|changed|unplugged|"
    r"uninstalled|merged|healed|restored|closed|abandoned|pulled|patched|mended|addressed|detached|archived|reinstated|"
    r"re-?enabled|raised|lowered|increased|reduced|extended|shortened|handed over|sold"
)
_CHANGE: Final = re.compile(
    r"\b(?:"
    rf"(?:is|are|was|were|be|been|being|has|have|now)\s{_ADVERB}(?P<gone>gone|history|obsolete|no more|back\b|again\b)"
    rf"|(?:was|were|has been|have been|had been|got|been)\s{_ADVERB}(?P<done>{_DONE})"
    rf"|(?:is|are)\s{_ADVERB}(?P<cured>fixed|solved|resolved|repaired|retired|decommissioned|cured|corrected|lifted|"
    r"superseded|discontinued|reverted)(?!\sby\s(?!v?\d))"
    r"|(?P<went>(?:disappeared|vanished|ceased|moved|migrated|relocated|switched|changed|went)\s"
    r"(?:from|to|over|away|with|after|since|for good))"
    r"|(?:has|have)\s(?P<has>disappeared|vanished|ceased|moved|gone|ended|stopped|migrated|switched|changed|become|healed)"
    r"|(?P<act>dropped|removed|replaced|abandoned|disabled|fixed|solved|cured|ended|lifted)\s(?:the|its|this|that|all|our)\b"
    r"|(?P<denied>no longer|(?:not?|\w+nt)\s[\w\s/.-]{0,40}?any ?(?:more|longer))"
    r"|(?P<retracted>mistaken|correction:|was wrong|not true|wrong before|scratch that|contrary to|turned out|in fact)"
    rf"|(?:\A|\bnow\s)(?P<begun>{_DONE})\s(?:to|from|by|in|since|as of)\b"
    r"|(?P<abroad>nicht mehr|kein\w*\s(?:\w+\s){0,2}mehr|ya no|n(?:e\s\w+|est|a|ont)\splus)\b"
    r"|:\s(?P<told>fixed|solved|resolved|repaired|cured|removed|gone)\b"
    r"|(?P<again>works? again|again since|fixed (?:by|in|since|as of) (?:v|version|release)? ?\d)"
    r")"
)
_EVENT: Final = (
    r"(?:an?|any|each|every|\w+ings?|"
    r"\w*(?:boot|start|grade|deploy|crash|update|fail ?over|outage|reload)s?)\b"
)
_CLAUSE_START: Final = re.compile(
    r"[,;(]|\b(?:if|when|while|whenever|unless|until|once|as long as|as soon as|where|which|that|because|by the time|"
    rf"(?:after|before|since)(?!\s{_EVENT}))\b"
)
"""Start of a clause. "After a restart" is a phrase within one: "The loss of DNS after a restart is fixed"."""

_RELATIVE: Final = frozenset({"that", "which"})
_PREDICATE: Final = re.compile(
    r"\s(?!(?:the|an?|this|these|those|its?|their|our|your|my|his|her|all|any|no|some|it|they|we|you|he|she|there|not|"
    r"is|are|was|were|be|been|has|have|had|will|would|can|could|should|must|may|might|do|does|did)\b)\w+"
)
"""The verb of a relative clause, right after its pronoun. A change after this verb belongs to the main clause: "The
leak that fills the disk is fixed". "Note that the leak is fixed" has no such verb."""


def stated_changes(folded: str) -> dict[str, str]:
    """Return the state changes of a folded text: the stem of each with its wording.

    A change within a circumstance ("once the lock is gone") is not a change of the text's own claim.
    """
    found: dict[str, str] = {}
    starts = list(_CLAUSE_START.finditer(folded))
    places = [start.start() for start in starts]
    for match in _CHANGE.finditer(folded):
        if not _is_claimed(folded, match, starts[: bisect(places, match.start() - 1)]):
            continue
        kind = match.lastgroup or ""
        name = NO_LONGER if kind == "denied" else stem(match[kind].split()[0])
        found.setdefault(name, match.group().strip())
    return found


def _is_claimed(folded: str, change: re.Match[str], starts: Sequence[re.Match[str]]) -> bool:
    """Return whether a change belongs to the text's own claim, given the clauses that start before it."""
    for start in reversed(starts):
        if start.group() in ",;(":
            return True
        is_over = start.group() in _RELATIVE and _PREDICATE.match(folded, start.end(), change.start())
        if not is_over:
            return False
    return True
