"""Docstrings as documentation."""

from commonplace.core.docstrings import documented


def stored(place: str, *, times: int) -> None:
    """Store a thing.

    It stays.

    Parameters:
        place: Where, such as "here"; a long
            description has several lines.
        times: How often.

    Source: nowhere.
    """
    del place, times


def test_a_section_describes_parameters() -> None:
    """The text is without the section; descriptions have one line."""
    text, descriptions = documented(stored)
    assert text == "Store a thing.\n\nIt stays.\n\nSource: nowhere."
    assert descriptions == {
        "place": 'Where, such as "here"; a long description has several lines.',
        "times": "How often.",
    }


def test_without_a_section() -> None:
    """The text is whole, and a thing without a docstring has neither."""
    assert documented(test_without_a_section)[1] == {}
    assert documented(lambda: None) == ("", {})
