"""What callers may pass to knowledge memory."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge.model import inputs

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def test_ids_come_as_uuids_or_as_text() -> None:
    """In any of the forms of a UUID."""
    key = uuid4()
    for given_id in (key, str(key), str(key).upper(), key.hex, f"{{{key}}}"):
        assert inputs.require_id(given_id, field="rule_id") == key
    assert inputs.optional_id(None, field="rule_id") is None
    for wrong in ("", "1", 7, None, b"x" * 16, ["x"]):
        with pytest.raises(InvalidInputError, match="rule_id: expected a UUID"):
            inputs.require_id(wrong, field="rule_id")
    assert isinstance(inputs.require_id(str(key), field="x"), UUID)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_metadata_that_json_can_say_is_kept(metadata: dict[str, object]) -> None:
    """As it was, but for what no database can hold."""
    kept = inputs.require_metadata(metadata, allow_secrets=True)
    assert "\\u0000" not in json.dumps(kept)
    assert inputs.json_text(kept).encode()
    if "\x00" not in str(metadata) and "\\x00" not in str(metadata):
        assert kept == metadata


def nested(levels: int) -> dict[str, object]:
    """Return an object of that many levels."""
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        "{}",
        {1: "x"},
        {"x": float("nan")},
        {"x": [float("inf")]},
        {"x": object()},
        {"x": b"bytes"},
        {"x": datetime.now(UTC)},
        {"x": "y" * 70_000},
        {"x": [1 << 20_000]},
        {"forgotten": True},
    ],
    ids=lambda value: type(value).__name__,
)
def test_metadata_that_json_cannot_say_is_refused(metadata: object) -> None:
    """Clearly."""
    with pytest.raises(InvalidInputError, match="metadata: expected"):
        inputs.require_metadata(metadata, reserved={"forgotten"}, allow_secrets=False)


def test_metadata_may_be_nested_as_far_as_people_do() -> None:
    """Sixteen levels, and no more, however many they are."""
    for levels in (17, 100_000):
        with pytest.raises(InvalidInputError, match="metadata: expected JSON of at most 16 levels"):
            inputs.require_metadata(nested(levels), allow_secrets=False)
    with pytest.raises(InvalidInputError, match=r"tags: expected .*, got a value nested too deeply"):
        inputs.require_tags([nested(100_000)], allow_secrets=False)
    assert inputs.require_metadata(nested(16), allow_secrets=False) == nested(16)
    assert inputs.require_metadata(None, allow_secrets=False) == {}


@pytest.mark.parametrize("importance", [True, None, "5", -0.1, 10.01, float("nan"), float("inf"), 5 + 0j])
def test_importance_is_a_number_from_0_to_10(importance: object) -> None:
    """Everything else is refused."""
    with pytest.raises(InvalidInputError, match="importance: expected a number from 0"):
        inputs.require_importance(importance)
    assert [inputs.require_importance(value) for value in (0, 10, 7.5)] == [0.0, 10.0, 7.5]


def test_tags_are_texts_each_once() -> None:
    """In their order, cleaned."""
    assert inputs.require_tags([" b", "a\x00", "b"], allow_secrets=False) == ["b", "a"]
    assert inputs.require_tags(None, allow_secrets=False) == []
    for wrong in ("work", {"a": 1}, [""], [1], ["x" * 101], [str(n) for n in range(51)]):
        with pytest.raises(InvalidInputError, match="tags: expected"):
            inputs.require_tags(wrong, allow_secrets=False)


def test_moments_have_a_time_zone() -> None:
    """And are turned into UTC."""
    moment = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    assert inputs.require_moment(moment, field="created_at").isoformat() == "2026-01-01T00:00:00+00:00"
    for wrong in (datetime(2026, 1, 1), "2026-01-01", None):  # noqa: DTZ001 - a naive one is what is refused
        with pytest.raises(InvalidInputError, match="created_at: expected a datetime with a time zone"):
            inputs.require_moment(wrong, field="created_at")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"])
def test_moments_that_utc_has_no_year_for_are_refused(text: str) -> None:
    """They are not a fault of the server."""
    with pytest.raises(InvalidInputError, match="as_of: expected a moment of the years 1 to 9999 in UTC"):
        inputs.optional_moment(text, field="as_of")


@pytest.mark.parametrize(
    "value",
    [
        "0001-01-01",
        "0001-01-01T00:00:00Z",
        "9999-12-31",
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
    ],
)
def test_the_ends_of_the_calendar_are_not_stored(value: object) -> None:
    """Other programs write them where no time is known; reads may name them."""
    with pytest.raises(
        InvalidInputError, match="valid_from: expected a moment of the years 2 to 9998, or no value"
    ):
        inputs.optional_stored_moment(value, field="valid_from")
    assert inputs.optional_moment(value, field="valid_at") is not None
    assert inputs.optional_stored_moment(None, field="valid_from") is None


def test_a_date_is_the_beginning_or_the_last_moment_of_its_day() -> None:
    """A time is itself."""
    for text, at_end, expected in (
        ("2026-05-01", False, "2026-05-01T00:00:00+00:00"),
        ("2026-05-01", True, "2026-05-01T23:59:59.999999+00:00"),
        ("2026-05-01T00:00", True, "2026-05-01T00:00:00+00:00"),
    ):
        moment = inputs.optional_moment(text, field="as_of", at_end=at_end)
        assert moment is not None
        assert moment.isoformat() == expected
