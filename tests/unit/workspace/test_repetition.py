"""Repeated, reworded and opposed notes, and the lines about opposed pairs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from commonplace.judge import PairVerdict, Verdict
from commonplace.workspace.model.config import InjectMode, MemoryConfig
from commonplace.workspace.model.memories import Note, NoteDraft, NoteScope
from commonplace.workspace.rules.context_block import select
from commonplace.workspace.rules.pair_lines import PairLine, read_lines, text_name, to_bytes
from commonplace.workspace.rules.repetition import closest, find_repeated, relatives_of
from support.judging import both_ways, decide

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DEFAULT = MemoryConfig()
FIRST, OTHER, SINCE = "Deploys go out on Tuesday", "Deploys go out on Thursday", timedelta(minutes=1)


def note(number: int, text: str, *tags: str) -> Note:
    """Return a note; later numbers are newer."""
    return Note(
        number=number, text=text, scope=NoteScope.WORKSPACE, tags=tags, created_at=NOW + number * SINCE
    )


def draft(text: str, *tags: str, scope: NoteScope = NoteScope.WORKSPACE) -> NoteDraft:
    """Return a note that is about to be stored."""
    return NoteDraft(text=text, scope=scope, tags=tags, created_at=NOW)


@pytest.mark.requirement("TRU-05.2")
def test_only_the_same_statement_is_a_repetition() -> None:
    """Case and spacing do not matter; another scope or a new tag says something new."""
    known = [note(1, FIRST, "infra"), note(2, "Ask first")]
    assert find_repeated(known, draft("deploys go  out on tuesday")) is known[0]
    assert find_repeated(known, draft(FIRST, "infra")) is known[0]
    assert find_repeated(known, draft(FIRST, "deploy")) is None
    assert find_repeated(known, draft(FIRST, scope=NoteScope.USER)) is None
    assert find_repeated(known, draft(f"{FIRST}s")) is None


@pytest.mark.requirement("TRU-05", "TRU-05.2")
def test_what_holds_again_is_no_repetition() -> None:
    """The first statement came back after its correction: without a line of its own, the correction would stand."""
    assert find_repeated([note(1, FIRST), note(2, OTHER)], draft(FIRST)) is None
    again = [note(1, FIRST), note(2, OTHER), note(3, FIRST)]
    assert find_repeated(again, draft(FIRST)) is again[2]


def test_the_closest_notes_are_compared() -> None:
    """At most ten, those that share most words first; ties: the newest."""
    notes = [note(n, f"deploys number{n}") for n in range(1, 40)]
    near = note(40, "deploys go out on Tuesday evening")
    chosen = closest(note(41, FIRST), [near, *notes])
    assert (len(chosen), chosen[0], chosen[1]) == (10, near, notes[-1])
    assert relatives_of(note(41, OTHER), [near, note(42, FIRST)]).opposed[0].other.number == 42


@pytest.mark.requirement("TRU-05.3")
@pytest.mark.parametrize("mode", [InjectMode.RELEVANT, InjectMode.RECENT_ONLY])
def test_a_block_shows_rewordings_once(mode: InjectMode, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest of those that fit alike; a flagged one takes no place."""
    never, reworded = "Never deploy on Fridays", "Don't deploy on Fridays"
    decide(monkeypatch, both_ways(Verdict.SAME, never, reworded))
    notes = [
        note(1, never),
        note(2, reworded),
        note(3, "Ask before a deploy on the weekend"),
    ]
    config = MemoryConfig(inject_mode=mode)
    assert [each.number for each in select(notes, "deploy on Fridays?", config, NOW)] == [3, 2]
    held = select(notes, "deploy on Fridays?", config, NOW, holds=lambda text: text == notes[1].text)
    assert [each.number for each in held] == [3, 1]


@pytest.mark.requirement("TRU-05.4")
def test_the_last_line_of_a_pair_counts() -> None:
    """A damaged line is skipped; the text of a deleted note comes back whole."""
    waiting = PairLine(older=text_name(FIRST), newer=text_name(OTHER), since=NOW)
    decided = replace(
        waiting,
        decision=PairVerdict.CORRECTS,
        decided_by="ada",
        decided_at=NOW + SINCE,
        deleted=note(1, FIRST, "infra"),
    )
    data = to_bytes(waiting) + b'{"older": 1}\n\xff\xfe\nnull\n' + to_bytes(decided) + to_bytes(waiting)[:40]
    assert read_lines(to_bytes(waiting)) == {waiting.key: waiting}
    assert read_lines(data) == {waiting.key: decided}
    assert FIRST.encode() not in to_bytes(waiting)
    assert text_name(FIRST) == text_name("deploys  go out on TUESDAY") != text_name(OTHER)
