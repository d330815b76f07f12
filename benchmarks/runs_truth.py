"""The authors' facts for ``runs.py``, and the comparison of memories with them.

A memory tells of a fact if it has the words of the subject, or of another name of it, and those of the value, or of
another wording of it; :mod:`runs_words` says which words are the same. Of four words or more, a quarter may be missing,
but no number and no negation. A memory whose subject is a part of the value, such as a discount code, need not name the
author's subject; nor need one whose subject is the value, if it names the relation: "Kettle is the dog". Of facts with
one subject, relation and value, each memory tells of the one whose period is nearest.

Three ways to say the same are right:

- *An event* of one day may have this day as its period, or name it: "The concert is on 30 May" stays true when it is
  over, and holds before.
- *An end* may be a value, or the end of a period: "The contract runs until 31 July" is over in August, and stays true.
- *An exception* may stand beside the usual value: "Rory answers the mail" all the time and "Ines does in May", or Rory
  until May, Ines in May and Rory from June on.

A memory is *about* a fact if its predicate names the relation or the subject, or only a verb, such as ``runs_on``, or
if four fifths of its words are those of the fact. Only memories about a fact can double it, or be current though the
fact is over: "The disk of db-1 is dying" is true though nothing runs there any more. ``doubled`` counts too many:
"Maren does not want to lead" is about the lead as well.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from runs_words import words

TOLERANCE: Final = timedelta(days=1)
_MOST_OF: Final = 0.8
"""The share of the words of a memory from which it says nothing but the fact."""

LEAST_OF_NEVER: Final = 0.8
"""The share of the words of a statement that nobody should keep, from which a memory says it."""

_LABELS: Final = frozenset({"i", "me", "user", "we", "us"})
"""Words for a speaker, which name a subject only as the whole subject of a memory."""

_NEGATIONS: Final = frozenset({"not", "no", "never", "negat", "isn", "wasn", "dropp", "denie"})
_VERBS: Final = frozenset(
    "run use has have live lives kept keep work locat goes set stand to".split()  # noqa: SIM905 - reads as a list
)
"""Words of predicates that name no relation of their own."""

_FILLERS: Final = frozenset("to from until till for with by per or each every".split())  # noqa: SIM905 - as above
"""Words that a value may have and another wording of it lacks."""

_MANY_WORDS: Final = 4
_MOST_MISSING: Final = 0.25
_REMARK: Final = re.compile(r"\s*\([^()]*\)\s*$")


class State(StrEnum):
    """When a fact or a memory holds."""

    PAST = "past"
    CURRENT = "current"
    FUTURE = "future"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueFact:
    """A fact that an author wrote down, with its other names and wordings."""

    subject: str
    relation: str
    value: str
    subjects: tuple[str, ...]
    values: tuple[str, ...]
    begins: date | None
    ends: date | None
    episodes: tuple[str, ...]

    @property
    def group(self) -> tuple[str, str]:
        """The subject and relation, which a fact shares with its earlier and later values."""
        return self.subject, self.relation

    def state(self, day: date) -> State:
        """Return when the fact holds, seen from a day."""
        return _state(self.begins, self.ends, day)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A fact at the end, or a rule, which has no subject and predicate."""

    subject: str
    predicate: str
    content: str
    begins: date | None = None
    ends: date | None = None
    is_over: bool = False
    """Whether another fact took its place; it holds until its end, which may be to come."""

    @property
    def text(self) -> str:
        """All words of the memory."""
        return f"{self.subject} {self.predicate} {self.content}"

    def state(self, day: date) -> State:
        """Return when the memory holds, seen from a day."""
        return State.PAST if self.is_over and self.ends is None else _state(self.begins, self.ends, day)

    def is_about(self, fact: TrueFact) -> bool:
        """Return whether the key names the relation of a fact, or the content says little else."""
        named = words(self.predicate) - _VERBS
        about = words(" ".join((fact.relation, *fact.subjects)))
        return (
            not named
            or bool(named & (about - words(self.subject) | words(fact.relation)))
            or self.says_little_but(fact)
        )

    def says_little_but(self, fact: TrueFact) -> bool:
        """Return whether most words of the content are those of a fact."""
        content = words(self.content) - _VERBS
        explained = content & words(" ".join((fact.relation, *fact.subjects, *fact.values)))
        return len(explained) >= _MOST_OF * len(content)

    def shares_relation(self, fact: TrueFact) -> int:
        """Return how many words of the relation of a fact are in the predicate and content."""
        relation = words(fact.relation) - _VERBS - _FILLERS
        return len(relation & words(f"{self.predicate} {self.content}"))

    def names_no_relation(self) -> bool:
        """Return whether the predicate has only a verb, such as ``runs_on``, or is empty, as that of a rule."""
        return words(self.predicate) <= _VERBS


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """The facts of a half, and the statements that nobody should keep."""

    facts: tuple[TrueFact, ...]
    never: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Score:
    """The facts by their result, as lines for people."""

    right: list[str] = field(default_factory=list[str])
    period: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    doubled: list[str] = field(default_factory=list[str])
    current: list[str] = field(default_factory=list[str])


def _state(begins: date | None, ends: date | None, day: date) -> State:
    if ends is not None and ends <= day:
        return State.PAST
    return State.FUTURE if begins is not None and begins > day else State.CURRENT


def read_truth(path: Path) -> Truth:
    """Return the facts of a file."""
    values = json.loads(path.read_text(encoding="utf-8"))
    return Truth(facts=tuple(map(_fact, values["facts"])), never=tuple(values["never"]))


def _fact(row: dict[str, Any]) -> TrueFact:
    days = {key: None if row.get(key) is None else date.fromisoformat(row[key]) for key in ("from", "to")}
    return TrueFact(
        subject=row["subject"],
        relation=row["relation"],
        value=str(row["value"]),
        subjects=(row["subject"], *row.get("subject_aliases", ())),
        values=(str(row["value"]), *map(str, row.get("aliases", ()))),
        begins=days["from"],
        ends=days["to"],
        episodes=tuple(row["episodes"]),
    )


def tells_of(memory: Memory, fact: TrueFact) -> bool:
    """Return whether a memory has the words of a subject and of a value."""
    text = words(memory.text)
    if not any(_has(text, each) for each in fact.values):
        return False
    return any(_names(memory, text, each) for each in fact.subjects) or _is_named_by_value(memory, text, fact)


def _has(text: frozenset[str], value: str) -> bool:
    """Return whether a text has the words of a value; of many, some may be missing, but no number or negation."""
    said = words(value) - _FILLERS
    if len(said) <= 1:  # "With Kasia" is more than her name.
        said = words(value)
    missing = said - text
    if any(each in _NEGATIONS or any(sign.isdigit() for sign in each) for each in missing):
        return False
    return len(missing) <= (_MOST_MISSING * len(said) if len(said) >= _MANY_WORDS else 0)


def _is_named_by_value(memory: Memory, text: frozenset[str], fact: TrueFact) -> bool:
    """Return whether the subject of a memory is a part of the value, and the memory has the rest of it too.

    If the subject is the value, the memory has the words of the relation.
    """
    value, subject = words(fact.value), words(memory.subject)
    if subject == value:
        return words(fact.relation) - _VERBS <= words(f"{memory.predicate} {memory.content}")
    return bool(subject) and subject < value <= text


def _names(memory: Memory, text: frozenset[str], subject: str) -> bool:
    named = words(subject)
    if named <= _LABELS:  # A rule is for the user.
        return not memory.predicate or named == words(memory.subject)
    return named <= text


def score(truth: Truth, memories: Sequence[Memory], day: date) -> Score:
    """Compare the memories of a day with the truth."""
    telling_of = [(memory, [fact for fact in truth.facts if tells_of(memory, fact)]) for memory in memories]
    result = Score()
    alike: defaultdict[tuple[str, str, str], list[TrueFact]] = defaultdict(list)
    for fact in truth.facts:
        alike[*fact.group, fact.value].append(fact)
    for facts in alike.values():
        telling = [memory for memory, of in telling_of if any(fact in of for fact in facts)]
        for fact, memory in _assigned(facts, telling, day):
            name = f"{fact.subject} {fact.relation}: {fact.value} ({fact.begins} to {fact.ends})"
            is_right = memory is not None and not _is_off(fact, memory)
            if is_right or _holds_around_exception(fact, truth, telling_of, day):
                result.right.append(name)
            elif memory is None:
                result.lost.append(name)
            else:
                result.period.append(f"{name}: {memory.begins} to {memory.ends}")
    result.doubled = list(_doubled(telling_of, day))
    result.current = list(_wrongly_current(truth, telling_of, day))
    return result


def _assigned(
    facts: Sequence[TrueFact], memories: Sequence[Memory], day: date
) -> list[tuple[TrueFact, Memory | None]]:
    """Return each fact with a memory in its state: about its relation, with the nearest period.

    A memory belongs to one of the facts, which have one value and several periods.
    """
    pairs = sorted(
        (not memory.is_about(fact), _distance(fact, memory), number, place)
        for number, fact in enumerate(facts)
        for place, memory in enumerate(memories)
        if _holds_as(fact, memory, day)
    )
    chosen: dict[int, int] = {}
    for *_, number, place in pairs:
        if number not in chosen and place not in chosen.values():
            chosen[number] = place
    return [
        (fact, memories[chosen[number]] if number in chosen else None) for number, fact in enumerate(facts)
    ]


def _holds_as(fact: TrueFact, memory: Memory, day: date) -> bool:
    """Return whether a memory is in the state of a fact; one without days, such as a date to come, may be to come."""
    own, its = fact.state(day), memory.state(day)
    if _names_event(memory, fact) and (own is State.PAST or its is not State.PAST):
        return True
    if own is State.CURRENT and _ends_on_value(memory, fact):
        return True
    is_timeless = fact.begins is None and fact.ends is None
    return own is its or (is_timeless and its is State.FUTURE)


def _names_event(memory: Memory, fact: TrueFact) -> bool:
    """Return whether a fact is an event of one day, and a memory names this day."""
    is_event = fact.begins is not None and fact.ends is not None and fact.ends - fact.begins <= TOLERANCE
    return is_event and words(str(fact.begins)) <= words(memory.content)


def _ends_on_value(memory: Memory, fact: TrueFact) -> bool:
    """Return whether the value of a fact is the last day of a memory, or the day after it."""
    last = [] if memory.ends is None else [memory.ends, memory.ends - TOLERANCE]
    return any(words(value) == words(str(day)) for value in fact.values for day in last)


def _holds_around_exception(
    fact: TrueFact, truth: Truth, pairs: Sequence[tuple[Memory, list[TrueFact]]], day: date
) -> bool:
    """Return whether a memory holds before and after another value, which a memory has with its days.

    The fact is the part before or the part after.
    """
    group = [each for each in truth.facts if each.group == fact.group]
    for between in group:
        before = [each for each in group if each.ends is not None and each.ends == between.begins]
        after = [each for each in group if each.begins is not None and each.begins == between.ends]
        for first, last in ((each, other) for each in before for other in after):
            if first.value == last.value != between.value and fact in {first, last}:
                whole = replace(first, ends=last.ends)
                return _is_told(first, whole, pairs, day) and _is_told(between, between, pairs, day)
    return False


def _is_told(
    fact: TrueFact, as_fact: TrueFact, pairs: Sequence[tuple[Memory, list[TrueFact]]], day: date
) -> bool:
    """Return whether a memory of a fact has the state and the days of another fact."""
    return any(
        fact in of and _holds_as(as_fact, memory, day) and not _is_off(as_fact, memory)
        for memory, of in pairs
    )


def _distance(fact: TrueFact, memory: Memory) -> int:
    """Return the days by which a memory differs from a fact."""
    pairs = ((fact.begins, memory.begins), (fact.ends, memory.ends))
    return sum(400 if read is None else abs((read - day).days) for day, read in pairs if day is not None)


def _is_off(fact: TrueFact, memory: Memory) -> bool:
    """Return whether a day that the truth names differs by more than a day."""
    if _names_event(memory, fact):
        return False
    pairs = ((fact.begins, memory.begins), (fact.ends, memory.ends))
    return any(day is not None and (read is None or abs(read - day) > TOLERANCE) for day, read in pairs)


def _doubled(pairs: Sequence[tuple[Memory, list[TrueFact]]], day: date) -> Iterable[str]:
    """Yield the further current memories about each current fact; a rule beside a fact is none."""
    seen: set[TrueFact] = set()
    for memory, of in pairs:
        about = {fact for fact in of if fact.state(day) is State.CURRENT and memory.is_about(fact)}
        if not memory.predicate or memory.state(day) is not State.CURRENT:
            continue
        if about and about <= seen:
            yield memory.text
        seen |= about


def _wrongly_current(
    truth: Truth, pairs: Sequence[tuple[Memory, list[TrueFact]]], day: date
) -> Iterable[str]:
    """Yield the current memories about a relation that name a value of the past and no other, and the false ones."""
    for memory, of in pairs:
        if memory.state(day) is not State.CURRENT:
            continue
        about = [fact for fact in of if memory.is_about(fact) and not _names_event(memory, fact)]
        over = {fact.group for fact in about if fact.state(day) is State.PAST}
        if over and not any(fact.state(day) is not State.PAST for fact in of):
            yield memory.text
        elif not about and any(_says(memory, each) for each in truth.never):
            yield f"never: {memory.text}"


def _says(memory: Memory, statement: str) -> bool:
    """Return whether a memory has the words of a statement, without the author's remark at its end."""
    text, said = words(memory.text), words(_REMARK.sub("", statement))
    is_denied = bool(text & _NEGATIONS) != bool(said & _NEGATIONS)
    return not is_denied and len(said & text) / len(said) >= LEAST_OF_NEVER


def as_day(moment: datetime | None) -> date | None:
    """Return the day of a moment in UTC."""
    return None if moment is None else moment.astimezone(UTC).date()
