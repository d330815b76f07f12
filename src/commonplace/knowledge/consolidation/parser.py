"""Parser of a model's answer, action by action; malformed entries are reported and the rest is kept. Pure.

Models send lists as JSON strings, which are accepted, and ids that they made up or copied from the example of the
skill, which are reported. Source: KNW-13.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from commonplace.core.choices import require_one_of
from commonplace.core.errors import InvalidInputError
from commonplace.core.quoting import quoted
from commonplace.core.text import require_text
from commonplace.knowledge.consolidation.answer_blocks import find_block, read_list
from commonplace.knowledge.consolidation.prompt import EXAMPLE_IDS, is_example_text
from commonplace.knowledge.model import inputs
from commonplace.knowledge.model.bounds import (
    DEFAULT_IMPORTANCE,
    MAX_CONTENT_CHARS,
    MAX_IMPORTANCE,
    MAX_KEY_CHARS,
    MAX_TAG_CHARS,
    MAX_TAGS,
)
from commonplace.knowledge.model.consolidation_results import (
    NO_JSON_BLOCK,
    Action,
    ConsolidationResult,
    EarlierValue,
    ProposedFact,
    ProposedRule,
    Retraction,
)
from commonplace.knowledge.model.permanence import Permanence
from commonplace.language.calendar_days import month_of, real_date
from commonplace.language.times import read_span

KEYS: Final = ("new_facts", "updated_facts", "new_rules", "confirmations", "updated_rules", "retractions")
MIN_IMPORTANCE: Final = 1.0

MAX_ACTIONS: Final = 200
"""Maximum number of actions of one kind in one answer: four for each episode of the largest run."""

MAX_EVIDENCE: Final = 100
MAX_EARLIER: Final = 20
"""Maximum number of earlier values of one fact."""

MAX_ERRORS: Final = 100
"""Maximum number of errors reported for one answer; the last error says how many more there are."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)
_MONTH: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])")
_SLASHES: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_WITH_YEAR: Final = re.compile(r"\b\d{4}\b")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""A present for words that need none."""

_ENTRY_KEYS: Final = ("content", "target_id")
"""Keys that identify an entry given instead of a list with one entry."""

_SHOWN_KEYS: Final = 5
_NO_DAY: Final = frozenset({"", "none", "null", "unknown", "open", "ongoing", "present"})
"""Words that models write where no day is known."""


_ORDINAL: Final = re.compile(r"(?:episode\s*)?#?(\d{1,3})(?:\s+of\s+\d+)?", re.IGNORECASE)

_SINGLES: Final[dict[str, tuple[type, ...]]] = {"evidence": (int, str), "was": (str, dict)}
"""Types of a single value that stands for a list."""

_Action = TypeVar("_Action", bound=Action)


def parse_consolidation(text: str, episode_ids: Sequence[UUID] = ()) -> ConsolidationResult:
    """Return the actions that an answer proposes. Never raises an error; takes time linear in the answer's length.

    The JSON is the last fenced ``json`` block with a known key, or the last bare object with a known key; see
    :mod:`~commonplace.knowledge.consolidation.answer_blocks`. Unreadable and repeated actions are left out and
    reported; so are copies of the example in the skill. A malformed optional field gets its default and is reported; an
    importance is clamped to 1.0 to 10.0.
    Secrets are refused later, when a memory is stored.

    Args:
        text: The whole answer.
        episode_ids: The episodes in the order of the prompt, for evidence given by number.

    Returns:
        The actions in the order of the answer, and at most 100 ``parse_errors``. ``unreadable`` is true if no part of
        the answer could be used.

    Source: KNW-13.
    """
    search = find_block(text, KEYS)
    if search.block is None and search.is_ambiguous:
        return ConsolidationResult(parse_errors=[search.fault], refused=1)
    if search.block is None:
        faults = [search.fault] if search.fault else []
        return ConsolidationResult(parse_errors=[*faults, NO_JSON_BLOCK])
    reading = _AnswerReading(episode_ids)
    values = search.block.values
    unknown = [key for key in values if key not in KEYS]
    if unknown:
        shown = ", ".join(f"{quoted(key[:40])}" for key in unknown[:_SHOWN_KEYS])
        reading.note(f"{len(unknown)} unknown keys left out: {shown}")
    return ConsolidationResult(
        updated_facts=reading.actions(values, "updated_facts", _updated_fact),
        retractions=reading.actions(values, "retractions", _retraction),
        new_facts=reading.actions(values, "new_facts", _new_fact),
        updated_rules=reading.actions(values, "updated_rules", _updated_rule),
        new_rules=reading.actions(values, "new_rules", _new_rule),
        confirmations=reading.actions(values, "confirmations", _confirmation),
        parse_errors=reading.errors(),
        refused=reading.refused,
    )


class _AnswerReading:
    """A reading of one answer, with its errors."""

    def __init__(self, episode_ids: Sequence[UUID]) -> None:
        self.episode_ids = episode_ids
        self._errors: list[str] = []
        self._more = 0
        self.refused = 0

    def note(self, error: str) -> None:
        """Record an entry or field that is left out or replaced."""
        if len(self._errors) < MAX_ERRORS - 1:
            self._errors.append(error)
        else:
            self._more += 1

    def errors(self) -> list[str]:
        """Return the reported errors."""
        return [*self._errors, f"and {self._more} more"] if self._more else self._errors

    def actions(self, values: dict[str, Any], key: str, read: Callable[["_Item"], _Action]) -> list[_Action]:
        """Return the actions under a key, without repeats; a missing list is empty, a single object is a list."""
        given = cast("object", values.get(key))
        if isinstance(given, dict):
            entry = cast("dict[str, object]", given)
            given = [entry] if any(each in entry for each in _ENTRY_KEYS) else entry
        entries = _as_list([] if given is None else given)
        if entries is None:
            self._refuse(InvalidInputError(key, "a list", given))
            return []
        if len(entries) > MAX_ACTIONS:
            self._refuse(InvalidInputError(key, f"at most {MAX_ACTIONS} entries", f"{len(entries)} entries"))
        found: dict[_Action, None] = {}
        for place, entry in enumerate(entries[:MAX_ACTIONS]):
            item = _Item(self, f"{key}[{place}]", entry)
            try:
                action = read(item)
            except InvalidInputError as error:
                self._refuse(error)
                continue
            if action in found:
                self.note(f"{item.name}: the same as an earlier entry, left out")
            found[action] = None
        return list(found)

    def _refuse(self, error: InvalidInputError) -> None:
        self.refused += 1
        self.note(str(error))


class _Item:
    """One entry of a list, with checked fields; fields that get their default are reported."""

    def __init__(self, reading: _AnswerReading, name: str, entry: object) -> None:
        self._reading = reading
        self.name = name
        self.entry: object = entry

    def text(self, key: str, max_chars: int) -> str:
        """Return a required text."""
        return require_text(self._get(key), field=f"{self.name}.{key}", max_chars=max_chars)

    def content(self) -> str:
        """Return the content, unless it is that of the example in the skill."""
        content = self.text("content", MAX_CONTENT_CHARS)
        if is_example_text(content):
            raise InvalidInputError(f"{self.name}.content", "news, not a copy of the example", content)
        return content

    def target(self) -> UUID:
        """Return the required id of a known fact or rule."""
        given = self._get("target_id")
        return _require_uuid(self._get("id") if given is None else given, f"{self.name}.target_id")

    def permanence(self) -> Permanence | None:
        """Return the permanence, if given. Source: KNW-13.3."""
        given = self._get("permanence")
        if given is None:
            return None
        try:
            word = given.strip().lower() if isinstance(given, str) else ""
            return require_one_of(Permanence, word, field="permanence")
        except InvalidInputError as error:
            self._replaced("permanence", error.expected, given, Permanence.STANDARD)
            return Permanence.STANDARD

    def importance(self) -> float | None:
        """Return an importance within its bounds, if given. Source: KNW-13.3."""
        given = self._get("importance")
        if given is None:
            return None
        number = _number(given)
        if math.isnan(number):
            self._replaced("importance", "a number from 1 to 10", given, DEFAULT_IMPORTANCE)
            return DEFAULT_IMPORTANCE
        return min(max(number, MIN_IMPORTANCE), MAX_IMPORTANCE)

    def tags(self) -> tuple[str, ...] | None:
        """Return the valid tags, without repeats, if given."""
        if self._get("tags") is None:
            return None

        def tag(value: object, name: str) -> str:
            return require_text(value, field=name, max_chars=MAX_TAG_CHARS)

        return self._some("tags", MAX_TAGS, tag)

    def period(self) -> tuple[datetime | None, datetime | None]:
        """Return the first and the last moment of the period, as far as given; an end before the beginning is none."""
        first, last = self._moment("valid_from"), self._moment("valid_to", at_end=True)
        if first is not None and last is not None and last <= first:
            self._replaced("valid_to", f"a day from {first:%Y-%m-%d} on", self._get("valid_to"), None)
            last = None
        return first, last

    def earlier(self) -> tuple[EarlierValue, ...]:
        """Return the earlier values; a single value or its text stands for a list."""
        return self._some("was", MAX_EARLIER, self._earlier_value)

    def _earlier_value(self, value: object, name: str) -> EarlierValue:
        item = _Item(self._reading, name, {"content": value} if isinstance(value, str) else value)
        content = item.text("content", MAX_CONTENT_CHARS)
        first, last = item.period()
        return EarlierValue(content=content, valid_from=first, valid_to=last)

    def _moment(self, key: str, *, at_end: bool = False) -> datetime | None:
        """Return a day or a moment, if given: in ISO 8601, or a month or a day with its year in words."""
        given = self._get(key)
        if given is None or (isinstance(given, str) and given.strip().lower() in _NO_DAY):
            return None
        try:
            return inputs.optional_stored_moment(_in_iso(given, at_end=at_end), field=key, at_end=at_end)
        except InvalidInputError:
            self._replaced(key, "a day such as 2026-03-31", given, None)
            return None

    def evidence(self) -> tuple[UUID, ...]:
        """Return the ids of the episodes, without repeats; an episode may be named by its number in the prompt."""
        return self._some("evidence", MAX_EVIDENCE, self._episode)

    def _episode(self, value: object, name: str) -> UUID:
        number = _ORDINAL.fullmatch(str(value).strip()) if isinstance(value, int | str) else None
        if number and 1 <= int(number[1]) <= len(self._reading.episode_ids):
            return self._reading.episode_ids[int(number[1]) - 1]
        return _require_uuid(value, name)

    def _some(self, key: str, most: int, read: Callable[[object, str], Any]) -> tuple[Any, ...]:
        """Return the readable entries of an optional list, without repeats; report the others."""
        given = self._get(key)
        entries = _as_list([] if given is None else given)
        if entries is None and isinstance(given, _SINGLES.get(key, ())) and not isinstance(given, bool):
            entries = [given]
        if entries is None:
            self._replaced(key, "a list", given, [])
            return ()
        if len(entries) > most:
            self._replaced(key, f"at most {most} entries", f"{len(entries)} entries", f"the first {most}")
        found: dict[Any, None] = {}
        for place, entry in enumerate(entries[:most]):
            try:
                found[read(entry, f"{self.name}.{key}[{place}]")] = None
            except InvalidInputError as error:
                self._reading.note(f"{error}; left out")
        return tuple(found)

    def _get(self, key: str) -> object:
        entry = self.entry
        if not isinstance(entry, dict):
            raise InvalidInputError(self.name, "a JSON object", entry)
        return cast("dict[str, object]", entry).get(key)

    def _replaced(self, key: str, expected: str, got: object, taken: object) -> None:
        error = InvalidInputError(f"{self.name}.{key}", expected, got)
        self._reading.note(f"{error}; taken as {taken}")


def _new_fact(item: _Item) -> ProposedFact:
    fact = _fact(item)
    return replace(
        fact,
        permanence=fact.permanence or Permanence.STANDARD,
        importance=fact.importance or DEFAULT_IMPORTANCE,
        tags=fact.tags or (),
    )


def _updated_fact(item: _Item) -> ProposedFact:
    return _fact(item, item.target())


def _fact(item: _Item, target_id: UUID | None = None) -> ProposedFact:
    first, last = item.period()
    return ProposedFact(
        target_id=target_id,
        subject=item.text("subject", MAX_KEY_CHARS),
        predicate=item.text("predicate", MAX_KEY_CHARS),
        content=item.content(),
        permanence=item.permanence(),
        importance=item.importance(),
        tags=item.tags(),
        evidence=item.evidence(),
        valid_from=first,
        valid_to=last,
        was=item.earlier(),
    )


def _new_rule(item: _Item) -> ProposedRule:
    if isinstance(item.entry, str):  # Models write the text alone.
        item.entry = {"content": item.entry}
    rule = _rule(item)
    return replace(rule, tags=rule.tags or ())


def _updated_rule(item: _Item) -> ProposedRule:
    return _rule(item, item.target())


def _rule(item: _Item, target_id: UUID | None = None) -> ProposedRule:
    return ProposedRule(
        target_id=target_id,
        content=item.content(),
        tags=item.tags(),
        evidence=item.evidence(),
    )


def _retraction(item: _Item) -> Retraction:
    if isinstance(item.entry, str):
        return Retraction(target_id=_require_uuid(item.entry, item.name))
    return Retraction(target_id=item.target(), evidence=item.evidence())


def _confirmation(item: _Item) -> UUID:
    return _require_uuid(item.entry, item.name)


def _as_list(value: object) -> list[Any] | None:
    if isinstance(value, str):
        return read_list(value)
    return cast("list[Any]", value) if isinstance(value, list) else None


def _require_uuid(value: object, name: str) -> UUID:
    """Return an id; :class:`~uuid.UUID` alone would accept other scripts' digits, signs and underscores."""
    text = value.strip() if isinstance(value, str) else ""
    if not _UUID.fullmatch(text):
        raise InvalidInputError(name, "a UUID", value)
    if text.startswith(EXAMPLE_IDS):
        raise InvalidInputError(name, "an id of this run, not one of the example", value)
    return UUID(text)


def _in_iso(given: object, *, at_end: bool) -> object:
    """Return the first or last day of a month such as 2026-05, or of days with their year in words, in ISO 8601."""
    text = given.strip() if isinstance(given, str) else ""
    month = _MONTH.fullmatch(text)
    if month is not None:
        first = real_date(int(month[1]), int(month[2]), 1)
        return given if first is None else str(month_of(first)[at_end])
    slashes = _SLASHES.fullmatch(text)
    if slashes is not None:
        return _day_of_slashes(*map(int, slashes.groups())) or given
    span = read_span(text, now=_EPOCH, zone=UTC) if _WITH_YEAR.search(text) else None
    if span is None or span.is_iso:
        return given
    return (span.last if at_end else span.start).date().isoformat()


def _day_of_slashes(first: int, second: int, year: int) -> str | None:
    """Return a date such as 22/05/2026 or 05/22/2026 in ISO 8601, if only one of its orders is possible."""
    days = {real_date(year, second, first), real_date(year, first, second)} - {None}
    return str(days.pop()) if len(days) == 1 else None


def _number(value: object) -> float:
    """Return a number, or NaN for anything else; models send numbers as strings."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except ValueError:
        return math.nan
