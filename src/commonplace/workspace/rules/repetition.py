"""Repeated, reworded and opposed notes. Pure.

Source: TRU-05.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from commonplace import judge
from commonplace.core.text import collapse_whitespace
from commonplace.workspace.model.memories import Note, NoteDraft, age_key
from commonplace.workspace.rules.relevance import words

MOST_COMPARED: Final = 10
"""The maximum number of notes that a new note is compared with: those that share most of their words with it."""


def find_repeated(notes: Iterable[Note], draft: NoteDraft) -> Note | None:
    """Return the newest note that a store would only repeat, or ``None``.

    It has the same words, whatever their case and spacing, the same scope, and all tags of the draft. If a later note
    opposes it, the draft says that the first one holds again, which is new.
    """
    repetitions = [each for each in notes if _repeats(draft, each)]
    if not repetitions:
        return None
    newest = max(repetitions, key=age_key)
    later = [each for each in notes if age_key(each) > age_key(newest)]
    if any(judge.relatives(each.text, [newest], text_of).opposed for each in closest(newest, later)):
        return None
    return newest


def closest(note: Note, others: Sequence[Note]) -> list[Note]:
    """Return at most ten notes that share words with a note, those that share most first; ties: newest first."""
    own = words(note.text)
    shares = [
        (2 * len(own & theirs) / (len(own) + len(theirs)), each)
        for each in reversed(others)
        if (theirs := words(each.text)) and not own.isdisjoint(theirs)
    ]
    shares.sort(key=lambda one: -one[0])
    return [each for _, each in shares[:MOST_COMPARED]]


def relatives_of(note: Note, others: Sequence[Note]) -> judge.Relatives[Note]:
    """Return the notes that a note says again in other words, or may contradict."""
    return judge.relatives(note.text, closest(note, others), text_of)


def text_of(note: Note) -> str:
    """Return the text of a note."""
    return note.text


@lru_cache(maxsize=2048)
def same_words(text: str) -> str:
    """Return a text without differences of case and spacing."""
    return collapse_whitespace(text).casefold()


def _repeats(draft: NoteDraft, note: Note) -> bool:
    return (
        same_words(note.text) == same_words(draft.text)
        and note.scope is draft.scope
        and set(draft.tags) <= set(note.tags)
    )
