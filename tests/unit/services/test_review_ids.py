"""The ids of the review queue: one grammar, and the verdicts that fit each kind."""

from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.judge import PairVerdict
from commonplace.services.review.ids import VERDICTS, ItemId, ItemKind
from commonplace.services.review.items import ReviewVerdict

pytestmark = pytest.mark.requirement("FLR-03", "FLR-03.1")

NUMBERS = st.integers(1, 10**18 - 1).map(str)
HEADS = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=4, max_size=25)
FACTS, RULES = HEADS.map("f:{}".format), HEADS.map("r:{}".format)


NOTHING = st.just("")


def ids(
    kind: ItemKind, first: st.SearchStrategy[str], second: st.SearchStrategy[str] = NOTHING
) -> st.SearchStrategy[ItemId]:
    """Return ids of a kind."""
    return st.builds(ItemId, kind=st.just(kind), first=first, second=second)


IDS = st.one_of(
    ids(ItemKind.OBSERVATIONS, NUMBERS),
    ids(ItemKind.FACTS, NUMBERS),
    ids(ItemKind.DUPLICATE, FACTS, FACTS),
    ids(ItemKind.DUPLICATE, RULES, RULES),
    ids(ItemKind.SUBJECT, FACTS, HEADS.map("n:{}".format)),
    ids(ItemKind.MEMORY, FACTS | RULES),
    ids(ItemKind.EPISODE, HEADS.map("e:{}".format)),
    ids(ItemKind.QUARANTINED, NUMBERS.map("o:{}".format) | NUMBERS.map("a:{}".format)),
    ids(ItemKind.QUARANTINED, NUMBERS.map("w:{}".format)),
)


@given(IDS)
def test_what_is_written_is_read_again(key: ItemId) -> None:
    """Each kind has a form of its own; case and surrounding spaces do not matter."""
    assert ItemId.parse(str(key)) == key
    assert ItemId.parse(f" {str(key).upper()} ") == key


@given(st.text())
def test_no_text_breaks_the_grammar(text: str) -> None:
    """A text is an id that can be written again, or it is refused."""
    with suppress(InvalidInputError):
        key = ItemId.parse(text)
        assert ItemId.parse(str(key)) == key


@pytest.mark.parametrize(
    "text",
    ["", "0", "007", "k", "k0", "9" * 19, "x:3k7q2", "f:3k7", "e:3k7q2+e:9x2vd", "f:3k7q2+r:9x2vd", "r:3k7q2+UUID",
     "f:3k7q2+", "+7", "o:0", "w:0", "o:1+o:2", "7\n8", "f:3k7q2+f:9x2vd+f:9x2vd"],
)  # fmt: skip
def test_a_malformed_id_is_refused(text: str) -> None:
    """The message names the forms and the text."""
    with pytest.raises(InvalidInputError, match=r"^id: expected a number, k and a number, .+, got "):
        ItemId.parse(text)


def test_an_entity_has_one_spelling() -> None:
    """Its UUID is read too, and a note may have its full id."""
    entity = UUID(int=7)
    for text in (str(entity), entity.hex, "n:00000"):
        assert str(ItemId.parse(f"f:3k7q2+{text}")) == "f:3k7q2+n:00000"
    assert str(ItemId.parse("w:m-2")) == "w:2"


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("7", "same refines corrects distinct"),
        ("k7", "same refines corrects distinct"),
        ("f:3k7q2+f:9x2vd", "same distinct"),
        ("r:3k7q2+r:9x2vd", "same distinct"),
        (f"f:3k7q2+{UUID(int=7)}", "same distinct"),
        ("f:3k7q2", "confirm forget"),
        ("r:3k7q2", "confirm forget"),
        ("e:3k7q2", "retry forget"),
        ("o:12", "confirm forget"),
        ("a:7", "confirm forget"),
        ("w:2", "confirm forget"),
    ],
)
def test_each_kind_has_its_verdicts(text: str, verdicts: str) -> None:
    """Doors show them in this order."""
    assert " ".join(ItemId.parse(text).verdicts) == verdicts


def test_verdicts_are_the_words_of_the_memories() -> None:
    """A verdict about a pair is a decision of its memory, and each first letter is a key of its own in a kind."""
    words = [str(verdict) for verdict in VERDICTS[ItemKind.OBSERVATIONS]]
    assert words == [str(each) for each in PairVerdict]
    assert VERDICTS.keys() == set(ItemKind)
    for verdicts in VERDICTS.values():
        assert len({verdict[0] for verdict in verdicts}) == len(verdicts)


@pytest.mark.parametrize(
    ("text", "verdict", "can_undo"),
    [
        ("7", ReviewVerdict.SAME, True),
        ("f:3k7q2", ReviewVerdict.FORGET, True),
        ("e:3k7q2", ReviewVerdict.RETRY, True),
        ("e:3k7q2", ReviewVerdict.FORGET, False),
        ("o:12", ReviewVerdict.CONFIRM, False),
    ],
)
def test_what_is_gone_cannot_be_restored(text: str, verdict: ReviewVerdict, *, can_undo: bool) -> None:
    """A forgotten episode expires, and a decision about a memory in quarantine approves or deletes it."""
    assert ItemId.parse(text).can_undo(verdict) is can_undo
