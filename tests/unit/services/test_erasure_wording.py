"""What an erasure does, in the words of the person who asks for it."""

import pytest

from commonplace.services.erasure.parts import ErasedPart
from commonplace.services.erasure.tables import DELETED, REDACTED
from commonplace.services.erasure.wording import NOUNS, cautions, lines_of, other_names, shorter_name

PARTS = (
    ErasedPart(
        memory="knowledge memory", place="facts", action="deleted", count=3, derived=1, samples=("a\nb",)
    ),
    ErasedPart(memory="knowledge memory", place="memory_events", action="redacted", count=1),
    ErasedPart(memory="workspace memory", place="/w/memories.jsonl", action="deleted", count=1),
    ErasedPart(memory="files", place="logs/hooks.log", action="deleted", count=2),
)


@pytest.mark.requirement("BAK-04.1")
def test_a_preview_speaks_of_the_future_and_a_receipt_of_the_past() -> None:
    """In the words of people, memory by memory."""
    assert lines_of(PARTS, is_done=False) == [
        "Files",
        "  2 lines or records in logs/hooks.log will be deleted",
        "Knowledge memory",
        "  3 facts will be deleted, 1 of them derived from others",
        "    a b",
        "  1 entry of the audit trail will lose its text",
        "Workspace memory",
        "  1 note in /w/memories.jsonl will be deleted",
    ]
    done = [line.strip() for line in lines_of(PARTS, is_done=True)]
    assert "1 note in /w/memories.jsonl was deleted" in done
    assert "3 facts were deleted, 1 of them derived from others" in done
    assert "1 entry of the audit trail lost its text" in done


def test_every_table_has_words_of_people() -> None:
    """Its name in the database is not shown."""
    assert {table.name for table in (*DELETED, *REDACTED)} == set(NOUNS)


@pytest.mark.requirement("BAK-04.1")
@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("A", "is one character"),
        ("7", "is one character"),
        ("the", "is a common word"),
        ("von der", "is a common word"),
        ("Ada", None),
        ("The Hague", None),
        ("\u738b", "is one character"),
    ],
)
def test_a_subject_that_matches_too_much_is_told_of(subject: str, reason: str | None) -> None:
    """One letter, or only words that say nothing."""
    found = cautions(subject)
    assert found == [] if reason is None else reason in found[0]


@pytest.mark.requirement("BAK-04.1")
def test_names_that_may_be_meant_are_questions() -> None:
    """A longer name, another name, and a part of the name."""
    assert other_names("ada  LOVELACE", ["Ada Lovelace"], []) == []
    longer, other = other_names("Ada", ["Ada", "Ada Lovelace", *(f"Ada {n}" for n in range(9))], ["Countess"])
    assert longer.startswith('"Ada" is also a part of "Ada 0", ')
    assert "and 5 more. Do you mean all of them?" in longer
    assert other.startswith('"Countess" is another name of the same entity.')
    assert shorter_name("Ada Lovelace", "Ada", 1) == (
        '1 more memory holds "Ada" without the rest of "Ada Lovelace". Is it the same? '
        'Then also erase the subject "Ada".'
    )
