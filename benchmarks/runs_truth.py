"""The authors' facts for ``runs.py``, and the comparison of memories with them.

A memory tells of a fact if it has all words of the subject, or of another name of it, and all words of the value, or
of another wording of it. Words have no case, accent or ending ("Tuesdays" is "tuesd"), numbers no separators and no
leading zero, and a few abbreviations stand for their word. Of facts with one subject, relation and value, each memory
tells of the one whose period is nearest.

A memory is *about* a fact if its predicate names the relation or the subject, or only a verb, such as ``runs_on``, or
if four fifths of its words are those of the fact. Only memories about a fact can double it, or be current though the
fact is over: "The disk of db-1 is dying" is true though nothing runs there any more. ``doubled`` counts too many:
"Maren does not want to lead" is about the lead as well.
"""

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final

TOLERANCE: Final = timedelta(days=1)
_MOST_OF: Final = 0.8
"""The share of the words of a memory from which it says nothing but the fact."""

LEAST_OF_NEVER: Final = 0.8
"""The share of the words of a statement that nobody should keep, from which a memory says it."""

_LABELS: Final = frozenset({"i", "me", "user", "we", "us"})
"""Words for a speaker, which name a subject only as the whole subject of a memory."""

_ABBREVIATIONS: Final = (
    "db=datab prod=produ k8s=kuber eur=euro postgresql=postg bi=twice mon=monda tue=tuesd wed=wedne thu=thurs fri=frida"
    " sat=satur sun=sunda one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12"
)
_SAME: Final[dict[str, str]] = {
    short: long for short, _, long in (pair.partition("=") for pair in _ABBREVIATIONS.split())
}
_SKIPPED: Final = frozenset({"a", "an", "the", "of", "and", "at", "in", "on", "is"})
_NEGATIONS: Final = frozenset({"not", "no", "never", "negat", "isn", "wasn", "dropp", "denie"})
_VERBS: Final = frozenset(
    {
        "run",
        "use",
        "has",
        "have",
        "live",
        "lives",
        "kept",
        "keep",
        "work",
        "locat",
        "goes",
        "set",
        "stand",
        "to",
    }
)
"""Words of predicates that name no relation of their own."""

_WORD: Final = re.compile(r"[^\W_]+(?:[.:-][^\W_]+)*")
_STEM_CHARS: Final = 5
_SHORT_CHARS: Final = 3


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
        content = words(self.content) - _VERBS
        explained = content & (about | words(" ".join(fact.values)))
        return (
            not named
            or bool(named & (about - words(self.subject) | words(fact.relation)))
            or len(explained) >= _MOST_OF * len(content)
        )


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


@cache
def words(text: str) -> frozenset[str]:
    """Return the words of a text in one form."""
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each)
    )
    plain = re.sub(
        r"(?<=\d)[,.\u202f ](?=\d{3}(?!\d))", "", plain.replace("€", " euro ").replace("%", " percent ")
    )
    plain = re.sub(
        r"(?<![\w:.-])0?(\d{1,2}:\d{2})(?::00)?z?\b", r"\1", plain.replace("'s", "").replace("\u2019s", "")
    )
    plain = re.sub(r"(?<![\w.-])(\d+(?:\.\d+)?)([a-z]{1,3})\b", r"\1 \2", plain)
    return frozenset(part for word in _WORD.findall(plain) for part in _parts(word) if part not in _SKIPPED)


def _parts(word: str) -> Iterable[str]:
    pieces = [word] if any(sign.isdigit() for sign in word) else re.split(r"[.:-]", word)
    return (
        _SAME.get(each) or (each if any(sign.isdigit() for sign in each) else _stem(each)) for each in pieces
    )


def _stem(word: str) -> str:
    return (word[:-1] if len(word) > _SHORT_CHARS and word.endswith("s") else word)[:_STEM_CHARS]


def tells_of(memory: Memory, fact: TrueFact) -> bool:
    """Return whether a memory has the words of a subject and of a value."""
    text = words(memory.text)
    return any(_names(memory, text, each) for each in fact.subjects) and any(
        words(each) <= text for each in fact.values
    )


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
            if memory is None:
                result.lost.append(name)
            elif _is_off(fact, memory):
                result.period.append(f"{name}: {memory.begins} to {memory.ends}")
            else:
                result.right.append(name)
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
    is_timeless = fact.begins is None and fact.ends is None
    return fact.state(day) is memory.state(day) or (is_timeless and memory.state(day) is State.FUTURE)


def _distance(fact: TrueFact, memory: Memory) -> int:
    pairs = ((fact.begins, memory.begins), (fact.ends, memory.ends))
    return sum(400 if read is None else abs((read - day).days) for day, read in pairs if day is not None)


def _is_off(fact: TrueFact, memory: Memory) -> bool:
    """Return whether a day that the truth names differs by more than a day."""
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
        about = [fact for fact in of if memory.is_about(fact)]
        over = {fact.group for fact in about if fact.state(day) is State.PAST}
        if over and not any(fact.state(day) is not State.PAST for fact in of):
            yield memory.text
        elif not about and any(_says(memory, each) for each in truth.never):
            yield f"never: {memory.text}"


def _says(memory: Memory, statement: str) -> bool:
    text, said = words(memory.text), words(statement)
    is_denied = bool(text & _NEGATIONS) != bool(said & _NEGATIONS)
    return not is_denied and len(said & text) / len(said) >= LEAST_OF_NEVER


def as_day(moment: datetime | None) -> date | None:
    """Return the day of a moment in UTC."""
    return None if moment is None else moment.astimezone(UTC).date()
