"""What must be in the memories of devices that sync, kept beside a simulation: from the words of ADR 0040 alone.

The model knows acts of a person and which acts a device has surely or perhaps seen. It knows nothing of versions,
stamps, files or merges. Where a fault leaves open what a device has seen, each outcome is allowed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from commonplace.services.sync.kinds import SyncKind

Row = Mapping[str, Any]
"""What a memory shows."""

Name = tuple[SyncKind, str]
"""The kind and the name of a memory."""

HIGHEST: Final = frozenset(
    {("fact", "last_confirmed_at"), ("rule", "last_confirmed_at"), ("lesson", "reinforced_at")}
)
LOWEST: Final = frozenset(
    {(kind, "created_at") for kind in ("fact", "rule", "lesson", "entity", "link", "digest")}
)
ALL: Final = frozenset({("fact", "tags"), ("rule", "tags"), ("entity", "aliases")})
SUM: Final = frozenset({("lesson", "reinforced"), ("lesson", "contradicted")})
"""How the fields of two changes become one; the latest value of every other field holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One thing that a person did to a memory on a device.

    Attributes:
        number: Tells acts apart.
        device: Where.
        key: The memory.
        row: What it showed then; ``None`` after it was forgotten.
        fields: The fields that the act set.
        counts: What the act added to sums.
        seen: The acts on this memory that the device had seen for sure.
        maybe_seen: These, and those that it may have seen.
        is_erasure: Whether it was an erasure.
    """

    number: int
    device: str
    key: Name
    row: Row | None
    fields: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    seen: frozenset[int] = frozenset()
    maybe_seen: frozenset[int] = frozenset()
    is_erasure: bool = False


@dataclass(slots=True)
class _View:
    """What a device has seen: how far in the two lists of acts, and which acts on each memory."""

    sent: int = 0
    tried: int = 0
    seen: dict[Name, set[int]] = field(default_factory=dict[Name, set[int]])
    maybe_seen: dict[Name, set[int]] = field(default_factory=dict[Name, set[int]])
    unsent: list[Act] = field(default_factory=list[Act])
    waiting: list[Act] = field(default_factory=list[Act])


class YearModel:
    """The acts of all devices, and what they must lead to."""

    def __init__(self) -> None:
        self.acts: dict[Name, list[Act]] = {}
        self._views: dict[str, _View] = {}
        self._number = 0
        self._tried: list[Act] = []
        self._sent: list[Act] = []
        self._sure: set[int] = set()
        self._lost: set[int] = set()

    def act(
        self,
        device: str,
        key: Name,
        before: Row | None,
        after: Row | None,
        *,
        is_erasure: bool = False,
        is_doubtful: bool = False,
    ) -> None:
        """Note an act of a person.

        Args:
            device: Where.
            key: The memory.
            before: What it showed.
            after: What it shows now; ``None`` if it was forgotten.
            is_erasure: Whether it was erased.
            is_doubtful: Whether a sync was killed just when it wrote this memory, so that it may not notice the act.
        """
        self._number += 1
        if is_doubtful:
            self._lost.add(self._number)
        view = self._views.setdefault(device, _View())
        old, new = before or {}, after or {}
        act = Act(
            number=self._number,
            device=device,
            key=key,
            row=None if after is None else dict(after),
            fields=frozenset(name for name in new if name not in old or old[name] != new[name]),
            counts={
                name: new[name] - old.get(name, 0)
                for name in new
                if (key[0], name) in SUM and new[name] is not None
            },
            seen=frozenset(view.seen.get(key, ())),
            maybe_seen=frozenset(view.maybe_seen.get(key, ())),
            is_erasure=is_erasure,
        )
        self.acts.setdefault(key, []).append(act)
        view.unsent.append(act)
        for table in (view.seen, view.maybe_seen):
            table.setdefault(key, set()).add(act.number)

    def begin_sync(self, device: str) -> None:
        """Note that a device begins to sync: others may see its acts from now on, and it may see theirs."""
        view = self._views.setdefault(device, _View())
        self._tried += view.unsent
        view.waiting += view.unsent
        view.unsent = []
        for act in self._tried[view.tried :]:
            view.maybe_seen.setdefault(act.key, set()).add(act.number)
        view.tried = len(self._tried)

    def end_sync(self, device: str, *, is_whole: bool) -> None:
        """Note that a sync ended well: the acts from before it are sent.

        Args:
            device: The device.
            is_whole: Whether it has surely taken all that others have sent.
        """
        view = self._views[device]
        self._sent += view.waiting
        self._sure |= {each.number for each in view.waiting}
        view.waiting = []
        if is_whole:
            for act in self._sent[view.sent :]:
                view.seen.setdefault(act.key, set()).add(act.number)
            view.sent = len(self._sent)

    def lose(self, device: str, *, revoker: str) -> None:
        """Note that a device was revoked: what only this device had may be lost."""
        view = self._views.setdefault(revoker, _View())
        for acts in self.acts.values():
            for each in acts:
                if each.device == device and each.number not in view.seen.get(each.key, ()):
                    self._lost.add(each.number)

    def count(self) -> int:
        """Return the number of acts."""
        return self._number

    def problems(self, key: Name, row: Row | None, texts: Sequence[str]) -> Iterator[str]:
        """Yield what is wrong with a memory on a device after a full exchange.

        Args:
            key: The memory.
            row: What it shows.
            texts: Its other texts, which are kept for people.
        """
        tried = [each for each in self.acts.get(key, ()) if self._is_tried(each)]
        sure = [each for each in tried if self._is_sure(each)]
        if row is None:
            if sure and all(each.row is not None for each in _latest(tried, sure)):
                yield "a memory is lost"
            return
        if not tried:
            yield "a memory was invented"
        elif any(each.row is None for each in _certain(tried, sure)):
            yield "a memory that was forgotten is back"
        else:
            yield from self._wrong_fields(key, row, tried, sure)
            yield from _lost_texts(key, row, texts, tried, sure)

    def erased_texts(self) -> set[str]:
        """Return the texts that must be in no file: those of acts that have not seen the erasure of their memory."""
        texts: set[str] = set()
        for acts in self.acts.values():
            erasures = {each.number for each in acts if each.is_erasure and self._is_sure(each)}
            texts |= {
                str(each.row["text"])
                for each in acts
                if each.row is not None and erasures - each.maybe_seen and "text" in each.row
            }
        return texts

    def _is_tried(self, act: Act) -> bool:
        view = self._views[act.device]
        return act.number in self._sure or act in view.waiting

    def _is_sure(self, act: Act) -> bool:
        return act.number in self._sure and act.number not in self._lost

    def _wrong_fields(self, key: Name, row: Row, tried: Sequence[Act], sure: Sequence[Act]) -> Iterator[str]:
        latest, certain = _latest(tried, sure), _certain(tried, sure)
        for name, value in row.items():
            field_of = (key[0], name)
            if field_of in SUM:
                yield from _wrong_sum(name, value, tried, sure)
            elif field_of in HIGHEST:
                least = max((_value(each, name) for each in certain), default="")
                yield from [f"{name} is {value}, before {least}"] if str(value or "") < least else ()
            elif field_of in LOWEST:
                most = min((_value(each, name) for each in certain), default=str(value))
                yield from [f"{name} is {value}, after {most}"] if str(value) > most else ()
            elif field_of in ALL:
                yield from _wrong_members(name, value, latest, certain)
            else:
                yield from _wrong_value(name, value, tried, sure)


def _wrong_sum(name: str, value: int, tried: Sequence[Act], sure: Sequence[Act]) -> Iterator[str]:
    """Yield whether a count is not the sum of what all acts added; it is open if an act may be lost."""
    total = sum(each.counts.get(name, 0) for each in tried)
    if len(sure) == len(tried) and all(each.row is not None for each in tried) and value != total:
        yield f"{name} is {value}, not {total}"


def _wrong_members(
    name: str, value: Sequence[str], latest: Sequence[Act], certain: Sequence[Act]
) -> Iterator[str]:
    """Yield whether a list lacks what a certain act says, or has what no latest act says."""
    least = {member for each in certain for member in (each.row or {}).get(name, ())}
    most = {member for each in latest for member in (each.row or {}).get(name, ())}
    if not least <= set(value) <= most:
        yield f"{name} is {value}, not between {sorted(least)} and {sorted(most)}"


def _value(act: Act, name: str) -> str:
    return str((act.row or {}).get(name) or "")


def _latest(tried: Sequence[Act], sure: Sequence[Act]) -> list[Act]:
    """Return the acts that no certain act has surely seen: what a memory shows comes from these."""
    seen = {number for each in sure for number in each.seen}
    return [each for each in tried if each.number not in seen]


def _certain(tried: Sequence[Act], sure: Sequence[Act]) -> list[Act]:
    """Return the acts that are certain and that no act may have seen: each of these counts."""
    seen = {number for each in tried for number in each.maybe_seen}
    return [each for each in sure if each.number not in seen]


def _wrong_value(name: str, value: object, tried: Sequence[Act], sure: Sequence[Act]) -> Iterator[str]:
    """Yield whether a field shows a value that no latest act has set."""
    setters = [each for each in tried if name in each.fields]
    values = [
        (each.row or {}).get(name)
        for each in _latest(setters, [each for each in sure if name in each.fields])
    ]
    if value not in values and (setters or value is not None):
        yield f"{name} is {value!r}, not one of {values!r}"


def _lost_texts(
    key: Name, row: Row, texts: Sequence[str], tried: Sequence[Act], sure: Sequence[Act]
) -> Iterator[str]:
    """Yield the text of a lesson that lost against another one and is no wording."""
    if key[0] != "lesson":
        return
    setters = [each for each in tried if "text" in each.fields]
    certain = _certain(setters, [each for each in sure if "text" in each.fields])
    for each in certain:
        text = (each.row or {})["text"]
        if text != row["text"] and text not in texts:
            yield f"the text {text!r} is lost"
