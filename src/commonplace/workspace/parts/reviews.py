"""Pairs of notes that oppose each other: they wait for a decision of a person."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from commonplace.core.choices import require_one_of
from commonplace.core.clock import Clock
from commonplace.core.errors import ConflictError, NotFoundError
from commonplace.core.request_context import current_actor
from commonplace.judge import PairVerdict, Relatives
from commonplace.workspace.model.memories import Note, NoteDraft, age_key, require_id
from commonplace.workspace.model.pairs import NotePair
from commonplace.workspace.model.receipts import StoreReceipt
from commonplace.workspace.rules.pair_lines import PairLine, text_name
from commonplace.workspace.rules.repetition import relatives_of
from commonplace.workspace.store.file import MemoryStore

_T = TypeVar("_T")


class StoreThread(Protocol):
    """The thread of the store."""

    def __call__(self, work: Callable[[], _T], /) -> Awaitable[_T]:
        """Run a function on the thread."""
        ...


class NoteReviews:
    """Lists, decides and reopens the pairs of notes that oppose each other: ``memory.reviews``.

    Args:
        run: Runs a function on the thread of the store.
    """

    def __init__(self, store: MemoryStore, clock: Clock, run: StoreThread) -> None:
        self._store = store
        self._clock = clock
        self._run = run

    async def decide(self, older_id: str, newer_id: str, verdict: str) -> NotePair:
        """Decide about a pair, and return it.

        ``same`` and ``corrects`` delete the older note. ``refines`` and ``distinct`` keep both; the pair does not wait
        again.

        Raises:
            InvalidInputError: An id is malformed, or the verdict is not one of the four.
            ConflictError: The pair is decided already.
            NotFoundError: No such pair waits.
            StorageUnavailableError: A file cannot be read or written.
        """
        word, actor = require_one_of(PairVerdict, verdict, field="verdict"), current_actor()
        return await self._run(lambda: self._decide(older_id, newer_id, word, actor))

    async def undo(self, older_id: str, newer_id: str) -> NotePair:
        """Undo the decision about a pair, which then waits again; a deleted note is restored.

        Raises:
            InvalidInputError: An id is malformed.
            ConflictError: The pair is not decided.
            NotFoundError: There is no such pair, or its newer note is gone.
            StorageUnavailableError: A file cannot be read or written.
        """
        return await self._run(lambda: self._undo(older_id, newer_id))

    async def deleted(self) -> list[Note]:
        """Return the notes that decisions deleted, and that an undo would restore.

        Raises:
            StorageUnavailableError: A file cannot be read.
        """
        states = (await self._run(self._store.pairs)).values()
        return [each.deleted for each in states if each.deleted is not None]

    async def erase(self, notes: Collection[Note]) -> int:
        """Remove the pairs of which a decision deleted one of these notes, and return how many.

        Raises:
            StorageUnavailableError: A file cannot be read or written.
        """
        return await self._run(lambda: self._store.remove_pairs(lambda line: line.deleted in notes))

    def compare(self, note: Note) -> Relatives[Note]:
        """Return the older notes that a stored note repeats or opposes; those that it opposes wait from now on.

        It runs on the thread of the store. A pair that a person decided to keep is not marked again.
        """
        older = [each for each in self._store.load().memories if age_key(each) < age_key(note)]
        relatives = relatives_of(note, older)
        if not relatives.opposed:
            return relatives
        known = self._store.pairs()
        lines = [(each, self._line(each.other, note)) for each in relatives.opposed]
        lines = [(each, line) for each, line in lines if not _are_kept(line, known)]
        fresh = [line for _, line in lines if (state := known.get(line.key)) is None or state.decision]
        if fresh:
            self._store.add_pairs(fresh)
        return replace(relatives, opposed=tuple(each for each, _ in lines))

    def replace(self, old: Note, draft: NoteDraft, actor: str) -> StoreReceipt:
        """Store a note in place of an old one, as if a person had decided that it corrects that note.

        It runs on the thread of the store. :meth:`undo` restores the old note.
        """
        now = self._clock()
        line = replace(
            PairLine(older=text_name(old.text), newer=text_name(draft.text), since=now),
            decision=PairVerdict.CORRECTS,
            decided_by=actor,
            decided_at=now,
            deleted=old,
        )
        self._store.add_pairs([line])  # First, so that the text of a deleted note is never lost.
        return StoreReceipt(memory=self._store.replace(old, draft), replaced=old)

    def mark(self, older: Note, newer: Note) -> None:
        """Let a pair of notes wait for a decision. It runs on the thread of the store."""
        self._store.add_pairs([self._line(older, newer)])

    def replacement_of(self, number: int) -> Note | None:
        """Return the note in whose favour decisions deleted the note ``m-<number>``, directly or through others.

        It runs on the thread of the store.
        """
        notes = {text_name(each.text): each for each in self._store.load().memories}
        lines = {line.older: line for line in self._store.pairs().values() if line.deleted is not None}
        at = next((line for line in lines.values() if line.deleted and line.deleted.number == number), None)
        seen: set[str] = set()
        while at is not None and at.newer not in notes and at.newer not in seen:
            seen.add(at.newer)
            at = lines.get(at.newer)
        return None if at is None else notes.get(at.newer)

    def _list(self, *, decided: bool) -> list[NotePair]:
        notes = {text_name(each.text): each for each in self._store.load().memories}
        pairs = [
            pair
            for line in self._store.pairs().values()
            if (line.decision is not None) is decided and (pair := _pair(line, notes)) is not None
        ]
        return sorted(pairs, key=lambda pair: pair.decided_at or pair.since, reverse=decided)

    def _decide(self, older_id: str, newer_id: str, word: PairVerdict, actor: str) -> NotePair:
        pair = self._find(older_id, newer_id, decided=False)
        line = replace(
            self._line(pair.older, pair.newer),
            since=pair.since,
            decision=word,
            decided_by=actor,
            decided_at=self._clock(),
            deleted=None if word.keeps_both else pair.older,
        )
        self._store.add_pairs([line])  # First, so that the text of a deleted note is never lost.
        if not word.keeps_both:
            self._store.delete(pair.older.number)
        return _decided(pair, line)

    def _undo(self, older_id: str, newer_id: str) -> NotePair:
        pair = self._find(older_id, newer_id, decided=True)
        if all(each.number != pair.older.number for each in self._store.load().memories):
            self._store.restore(pair.older)
        line = replace(self._line(pair.older, pair.newer), since=pair.since)
        self._store.add_pairs([line])
        return _decided(pair, line)

    def _find(self, older_id: str, newer_id: str, *, decided: bool) -> NotePair:
        """Return a pair in one of both states.

        Raises:
            ConflictError: The pair is in the other state.
            NotFoundError: There is no such pair.
        """
        numbers = require_id(older_id), require_id(newer_id)
        pair = _of_numbers(self._list(decided=decided), numbers)
        if pair is not None:
            return pair
        named = f"w:{numbers[0]}-w:{numbers[1]}"
        if _of_numbers(self._list(decided=not decided), numbers) is None:
            raise NotFoundError("pair of notes", named)
        if decided:
            message = "The pair is not decided yet, so there is nothing to undo."
        else:
            message = "The pair is already decided. To decide it again, undo the decision first."
        raise ConflictError("id", message, named)

    def _line(self, older: Note, newer: Note) -> PairLine:
        return PairLine(older=text_name(older.text), newer=text_name(newer.text), since=self._clock())

    async def list(self, *, decided: bool = False) -> list[NotePair]:
        """Return the pairs that wait, the oldest first, or the decided pairs, the latest first.

        Raises:
            StorageUnavailableError: A file cannot be read.
        """
        return await self._run(lambda: self._list(decided=decided))


def _are_kept(line: PairLine, known: Mapping[tuple[str, str], PairLine]) -> bool:
    """Return whether a person decided to keep both texts of a pair, whichever of them was newer."""
    states = (known.get(line.key), known.get((line.newer, line.older)))
    return any(state is not None and state.decision and state.decision.keeps_both for state in states)


def _of_numbers(pairs: Sequence[NotePair], numbers: tuple[int, int]) -> NotePair | None:
    return next((each for each in pairs if (each.older.number, each.newer.number) == numbers), None)


def _pair(line: PairLine, notes: Mapping[str, Note]) -> NotePair | None:
    """Return the pair of a state.

    ``None`` if one of its notes was edited or deleted since, or if a still newer note says what the older one said.
    """
    older, newer = notes.get(line.older, line.deleted), notes.get(line.newer)
    if older is None or newer is None or age_key(older) > age_key(newer):
        return None
    opposed = relatives_of(newer, [older]).opposed
    reason = opposed[0].reason if opposed else "The newer note may contradict the older one."
    return _decided(NotePair(older=older, newer=newer, reason=reason, since=line.since), line)


def _decided(pair: NotePair, line: PairLine) -> NotePair:
    return replace(pair, decision=line.decision, decided_by=line.decided_by, decided_at=line.decided_at)
