"""Claims: what a batch says of one subject and relation, and which of it holds now. Pure.

Several claims of one batch about one relation are

- a *change*, if one of them was said later, or holds later: the earlier ones become history, which ends where the later
  one begins;
- *siblings*, if they may hold at once: values of a predicate that holds several (``allergic_to``), values that were
  said together, for different uses or with a word such as "also", and exceptions for some days.

Claims are about one relation if subject and predicate differ only in spelling, article, "DB" for "database", a number,
a word of age or a date: ``version`` and ``version_2``, ``host`` and ``new_host``, ``on_call_6_july`` and
``on_call_13_july``. These count as such only if the bare predicate occurs as well, or with another date, in the batch
or in memory. Nor does it matter where the subject ends: ``shop database`` and ``backup_target``, ``shop DB backup`` and
``target``. A claim that says what it was before is about the relation of the fact in memory that says so.

A claim that says no more than the fact that it replaces is the same fact in other words, and began with it.

Source: TRU-04, ADR 0013.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from commonplace.knowledge.model.keys import plain_key
from commonplace.knowledge.rules import siblings
from commonplace.knowledge.rules.relation_names import is_of_the_past, unaged, undated
from commonplace.knowledge.rules.restatements import restates, say_the_same
from commonplace.language.cues import Cues, tokens_of
from commonplace.language.values import concepts

_USE: Final = re.compile(r"\b(?:for|für|fuer|para|pour)\s+((?:[^\W\d_][\w-]*\s*){1,4})", re.IGNORECASE)
_ALSO: Final = Cues.of(
    "also|additional*|another|second|both|as well|too|in addition|besides",
    "auch|ebenfalls|zusätzlich*|weitere[rsnm]?|außerdem|beide[ns]?",
    "también|además|otr[oa]|ambos|aussi|également|autre|en plus|também|outr[oa]",
)
_EXCEPTION: Final = Cues.of(
    "temporar*|exception*|only|once|this week|for now|during|while|ausnahms*|vorübergehend*|nur|solange|während",
    "temporal*|excepcional*|solo|durante|provisoire*|exceptionnel*|seulement|pendant",
)
_CHANGED: Final = Cues.of(
    "now|no longer|anymore|instead|moved|switched|replaced|changed|since|jetzt|nicht mehr|statt|seit",
    "ahora|ya no|désormais|ne plus|agora|já não",
)
_AGES: Final = concepts(
    "new old current currently latest previous former now main same only actual neue alte aktuelle"
    " two three four five six day days week weeks month months year years time while example everyone all"
)
"""Words that say nothing of what a value is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement of a batch.

    Attributes:
        said_at: When the episodes happened that say it, in any order; empty if that is unknown.
        valid_from: When it began to hold, if the batch says so.
        valid_to: When it stops to hold, if the batch says so.
        target_id: The fact in memory that it replaces, if it names one.
        was: What it says that it was before.
    """

    scope: str
    subject: str
    predicate: str
    content: str
    said_at: tuple[datetime, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    target_id: UUID | None = None
    was: tuple[str, ...] = ()

    @property
    def reach(self) -> datetime | None:
        """The latest moment of which the claim is evidence, if that is known."""
        moments = [*self.said_at, *([self.valid_from] if self.valid_from else [])]
        latest = max(moments, default=None)
        if latest is None or self.valid_to is None:
            return latest
        return min(latest, self.valid_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownClaim:
    """An active fact in memory."""

    id: UUID
    scope: str
    subject: str
    predicate: str
    content: str
    began_at: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledClaim:
    """The decision about a claim.

    Attributes:
        place: The place of the claim in the batch.
        subject: The subject under which it is stored.
        predicate: The predicate under which it is stored, before a value is added.
        valid_from: When it began to hold, if that is known.
        is_sibling: Whether its value must become a part of the predicate, so that it supersedes no other value. Claims
            that follow each other share that predicate.
        target_id: The fact in memory that it replaces; ``None`` if an earlier claim of the batch replaces that fact.
        follows: The place of the claim that it replaces, if any.
    """

    place: int
    subject: str
    predicate: str
    valid_from: datetime | None
    is_sibling: bool = False
    target_id: UUID | None = None
    follows: int | None = None


_Line = list[int]
"""The places of claims that replace each other, the earliest first."""


def settle(claims: Sequence[Claim], known: Iterable[KnownClaim] = ()) -> list[SettledClaim]:
    """Decide which claims of a batch replace others, and which stay beside them.

    Args:
        claims: The claims in the order of the batch, which decides where times do not.
        known: The active facts that the claims may be about.

    Returns:
        The decisions in the order in which the claims are stored. Claims that follow each other exchange their places,
        so that the earlier is stored first.
    """
    facts = tuple(known)
    claims = _with_joint_keys(claims, facts)
    relations = _Relations(claims, facts)
    settled: dict[int, SettledClaim] = {}
    order = list(range(len(claims)))
    for group in relations.groups():
        lines = _lines(claims, group, relations)
        for line in lines:
            for place, claim in zip(sorted(line), line, strict=True):
                order[place] = claim
            others = [claims[each] for other in lines if other is not line for each in other]
            settled |= {each.place: each for each in _settled_line(claims, line, others, relations)}
    targets: set[UUID] = set()
    return [_with_free_target(settled[place], targets) for place in order]


def _with_joint_keys(claims: Sequence[Claim], known: Sequence[KnownClaim]) -> list[Claim]:
    """Return the claims with the key of the first claim whose subject and predicate are the same words together."""
    keys: dict[tuple[str, str], tuple[str, str]] = {}
    for each in (*known, *claims):
        keys.setdefault((each.scope, _joint_key(each)), (each.subject, each.predicate))
    joined: list[Claim] = []
    for claim in claims:
        subject, predicate = keys[claim.scope, _joint_key(claim)]
        if claim.target_id is None and plain_key(subject) != plain_key(claim.subject):
            claim = replace(claim, subject=subject, predicate=predicate)  # noqa: PLW2901 - the claim in its other key
        joined.append(claim)
    return joined


def _joint_key(claim: Claim | KnownClaim) -> str:
    """Return the words of a subject and predicate in one spelling, without a word such as "current"."""
    is_past = is_of_the_past(claim.predicate)
    return plain_key(
        f"{claim.subject} {siblings.plain_name(claim.predicate) if is_past else unaged(claim.predicate)}"
    )


def _with_free_target(claim: SettledClaim, taken: set[UUID]) -> SettledClaim:
    """Return a claim without its target if that is taken, and take it: a fact is replaced once."""
    if claim.target_id in taken:
        return replace(claim, target_id=None)
    taken.update([claim.target_id] if claim.target_id else [])
    return claim


def in_time(claims: Sequence[Claim]) -> list[int]:
    """Return the places of the claims of a batch whose keys are settled, so that the later of each key is stored last.

    Claims with one key that say when they began, and name no end, exchange their places. All others stay in the order
    of the batch.
    """
    lines = defaultdict[tuple[str, str, str], _Line](list)
    for place, claim in enumerate(claims):
        if claim.valid_from is not None and claim.valid_to is None:
            lines[claim.scope, claim.subject, claim.predicate].append(place)
    order = list(range(len(claims)))
    for line in lines.values():
        for place, claim in zip(line, sorted(line, key=lambda each: _time(claims[each])), strict=True):
            order[place] = claim
    return order


def _time(claim: Claim) -> float:
    return 0.0 if claim.reach is None else claim.reach.timestamp()


class _Relations:
    """The relations that the claims of a batch are about."""

    def __init__(self, claims: Sequence[Claim], known: Sequence[KnownClaim]) -> None:
        self._claims = claims
        self._by_id = {each.id: each for each in known}
        self._by_relation: dict[tuple[str, str, str], KnownClaim] = {}
        self._subjects: dict[tuple[str, str], str] = {}
        self._names = defaultdict[tuple[str, str], set[str]](set)
        self._known = defaultdict[tuple[str, str], list[KnownClaim]](list)
        for each in (*known, *claims):
            about, name = _about(each), siblings.plain_name(each.predicate)
            self._subjects.setdefault(about, each.subject)
            self._names[about].add(name)
        for each in sorted(known, key=lambda each: each.valid_to is not None):
            self._known[_about(each)].append(each)
            self._by_relation.setdefault((*_about(each), siblings.plain_name(each.predicate)), each)
        for each in sorted(known, key=lambda each: each.valid_to is not None):
            self._by_relation.setdefault((*_about(each), self.relation(each)), each)

    def groups(self) -> Iterator[list[int]]:
        """Yield the places of the claims about each relation."""
        groups = defaultdict[tuple[str, str, str], list[int]](list)
        for place, claim in enumerate(self._claims):
            about = self._by_id.get(claim.target_id, claim) if claim.target_id else claim
            groups[*_about(about), self.relation(about)].append(place)
        yield from groups.values()

    def relation(self, claim: Claim | KnownClaim) -> str:
        """Return the name of a claim's relation."""
        name, names = siblings.plain_name(claim.predicate), self._names[_about(claim)]
        if unaged(name) in names - {name}:
            return unaged(name)
        has_period = isinstance(claim, KnownClaim) or claim.valid_from is not None
        if has_period and undated(name) != name and undated(name) in map(undated, names - {name}):
            return undated(name)
        fact = self._fact_that_says(claim, name) if isinstance(claim, Claim) else None
        return name if fact is None else siblings.plain_name(fact.predicate)

    def _fact_that_says(self, claim: Claim, name: str) -> KnownClaim | None:
        """Return the active fact that says what a claim was before, if their predicates share a word."""
        facts = self._known[_about(claim)] if claim.was and claim.target_id is None else []
        if any(siblings.plain_name(each.predicate) == name for each in facts):
            return None
        for fact in facts:
            shared = concepts(name.replace("_", " ")) & concepts(fact.predicate.replace("_", " "))
            about = f"{claim.subject} {name} {fact.predicate}"
            if shared and any(say_the_same(each, fact.content, about=about) for each in claim.was):
                return fact
        return None

    def is_past(self, claim: Claim) -> bool:
        """Return whether a claim's predicate says that it no longer holds."""
        return self.relation(claim) != siblings.plain_name(claim.predicate) and is_of_the_past(
            claim.predicate
        )

    def fact_of(self, claim: Claim) -> KnownClaim | None:
        """Return the active fact that a claim is about, by its target or its relation."""
        if claim.target_id is not None:
            return self._by_id.get(claim.target_id)
        return self._by_relation.get((*_about(claim), self.relation(claim)))

    def subject_of(self, claim: Claim) -> str:
        """Return the spelling of a claim's subject that memory has, else the first of the batch."""
        return self._subjects[_about(claim)]


def _about(claim: Claim | KnownClaim) -> tuple[str, str]:
    return claim.scope, plain_key(claim.subject)


def _lines(claims: Sequence[Claim], group: Sequence[int], relations: _Relations) -> list[_Line]:
    """Return the claims of one relation as lines of values that replace each other."""

    def order(place: int) -> tuple[bool, float, int]:
        return not relations.is_past(claims[place]), _time(claims[place]), place

    lines: list[_Line] = []
    for place in sorted(group, key=order):
        ends = (each for each in reversed(lines) if _continues(claims[place], claims[each[-1]], relations))
        line = next(ends, None)
        if line is None:
            lines.append([place])
        else:
            line.append(place)
    return lines


def _continues(claim: Claim, before: Claim, relations: _Relations) -> bool:
    """Return whether a claim says the same as an earlier claim of its relation, or takes its place."""
    if siblings.plain(claim.content) == siblings.plain(before.content):
        return True
    if siblings.holds_several(claim.predicate) or siblings.names_a_value(claim.predicate):
        return False
    if claim.target_id is not None and before.target_id is not None:
        return claim.target_id == before.target_id
    if relations.is_past(before) and not relations.is_past(claim):
        return True
    is_open = before.valid_to is None
    return _is_later(claim, before) and not may_hold_beside(claim, before.content, is_open=is_open)


def _is_later(claim: Claim, before: Claim) -> bool:
    if claim.valid_from is not None and before.valid_to is not None and before.valid_to <= claim.valid_from:
        return True
    return claim.reach is not None and before.reach is not None and claim.reach > before.reach


def may_hold_beside(claim: Claim, content: str, *, is_open: bool = True) -> bool:
    """Return whether the words of a claim let it hold beside another content of its relation.

    Args:
        claim: The later claim.
        content: What was said before.
        is_open: Whether that has no known end.
    """
    tokens = tokens_of(claim.content)
    if _ALSO.occur_in(tokens):
        return True
    if is_open and claim.valid_from and claim.valid_to and _EXCEPTION.occur_in(tokens):
        return True
    own, other = _use(claim, claim.content), _use(claim, content)
    return bool(own and other) and not own & other and not _CHANGED.occur_in(tokens)


def _use(claim: Claim, content: str) -> frozenset[str]:
    """Return the words that say what a value is for: "the port for metrics", "the metrics port"."""
    named = concepts(f"{claim.subject} {claim.predicate.replace('_', ' ')}")
    head = siblings.plain_name(claim.predicate).rpartition("_")[2]
    before = re.findall(rf"([^\W\d_][\w-]*)\s+{re.escape(head)}\b", content, re.IGNORECASE)
    return concepts(" ".join([*_USE.findall(content), *before])) - named - _AGES


def _settled_line(
    claims: Sequence[Claim], line: _Line, others: Sequence[Claim], relations: _Relations
) -> Iterator[SettledClaim]:
    """Yield the decisions about the claims of one line, beside the other claims of its relation."""
    subject, predicate = _key_of(claims, line, relations)
    target_id = next((claims[each].target_id for each in line if claims[each].target_id), None)
    fact = relations.fact_of(claims[line[0]])
    if target_id is None and fact is not None and predicate != fact.predicate:
        target_id = fact.id  # Its predicate has a date, and the line's has none.
    is_sibling = _is_sibling(claims[line[0]], predicate, target_id, others, relations)
    before: int | None = None
    for place in line:
        yield SettledClaim(
            place=place,
            subject=subject,
            predicate=predicate,
            valid_from=_beginning(claims[place], None if before is None else claims[before], relations),
            is_sibling=is_sibling,
            target_id=target_id if before is None else None,
            follows=before,
        )
        before = place


def _key_of(claims: Sequence[Claim], line: _Line, relations: _Relations) -> tuple[str, str]:
    """Return the subject and predicate of a line: those of the fact that it continues, else the plainest of its own."""
    first = claims[line[0]]
    if len(line) == 1 and first.target_id is not None:
        return first.subject, first.predicate
    relation = relations.relation(first)
    fact = next((each for place in line if (each := relations.fact_of(claims[place]))), None)
    if fact is not None:
        is_dated = undated(fact.predicate) == relation != siblings.plain_name(fact.predicate)
        return fact.subject, relation if is_dated else fact.predicate
    names = {
        siblings.plain_name(claims[place].predicate): claims[place].predicate for place in reversed(line)
    }
    return relations.subject_of(first), names.get(relation, relation)


def _is_sibling(
    claim: Claim,
    predicate: str,
    target_id: UUID | None,
    others: Sequence[Claim],
    relations: _Relations,
) -> bool:
    """Return whether the value of a line must be told apart from other values of its predicate."""
    if siblings.holds_several(claim.predicate) or (target_id and siblings.names_a_value(claim.predicate)):
        return True
    name = siblings.plain_name(predicate)
    beside = [each for each in others if siblings.plain_name(each.predicate) == name]
    if beside:
        return target_id is None or any(each.target_id for each in beside)
    fact = None if target_id else relations.fact_of(claim)
    if fact is None or siblings.plain(fact.content) == siblings.plain(claim.content):
        return False
    return may_hold_beside(claim, fact.content, is_open=fact.valid_to is None)


def _beginning(claim: Claim, before: Claim | None, relations: _Relations) -> datetime | None:
    """Return when a claim began to hold: as it says, else when its value was first said."""
    if claim.valid_from is not None or not claim.said_at:
        return claim.valid_from
    fact = relations.fact_of(claim)
    about = f"{claim.subject} {claim.predicate}"
    if (
        before is None
        and fact is not None
        and claim.valid_to is None
        and restates(claim.content, fact.content, about=about)
    ):
        return fact.began_at
    if before is not None and before.said_at:
        last = max(before.said_at)
        return min((each for each in claim.said_at if each > last), default=max(claim.said_at))
    return max(claim.said_at) if fact is not None else min(claim.said_at)
