"""Changing JSON in its text: what did not change stays to the byte."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.hosts.install.json_text import interior, rewrite

ADDED = {"hooks": [{"type": "command", "args": ["hook", "ä"]}], "timeout": 30}

texts = st.text('aü\u2028"\\\n,:{}[] ', max_size=4)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abcde"), values, max_size=4)


def written(
    document: Any,  # noqa: ANN401 - JSON
    indent: str | None,
    separators: tuple[str, str],
    newline: str,
    *,
    ascii_only: bool,
    end: str,
) -> str:
    """Return a document as an editor of some taste would write it."""
    text = json.dumps(document, indent=indent, separators=separators, ensure_ascii=ascii_only)
    return text.replace("\n", newline) + end


styles = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, " ", "  ", "    ", "\t"]),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,", " : ")]),
        "newline": st.sampled_from(["\n", "\r\n"]),
        "ascii_only": st.booleans(),
        "end": st.sampled_from(["", "\n", "\r\n", " \n\n"]),
    }
)


@given(document=objects, style=styles, at=st.integers(0, 3))
def test_what_is_added_and_taken_out_again_leaves_the_same_text(
    document: dict[str, Any], style: dict[str, Any], at: int
) -> None:
    """In the document itself and in a container below it, however it is written."""
    text = written(document, **style)
    changed = json.loads(text) | {"new": ADDED}
    containers = [key for key, value in changed.items() if isinstance(value, (dict, list)) and key != "new"]
    for key in containers[at : at + 1]:
        if isinstance(changed[key], dict):
            changed[key] = changed[key] | {"new": ADDED}
        else:
            changed[key] = [*changed[key], ADDED]
    interiors = {
        path: found for path in [(), *((key,) for key in document)] if (found := interior(text, path))
    }

    there = rewrite(text, changed, interiors={})

    assert json.loads(there) == changed
    assert rewrite(there, document, interiors=interiors) == text


@given(before=objects, after=objects, style=styles)
def test_the_text_says_what_it_is_to_say(
    before: dict[str, Any], after: dict[str, Any], style: dict[str, Any]
) -> None:
    """Whatever it said before."""
    assert json.loads(rewrite(written(before, **style), after, interiors={})) == after


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "b": {\n    "c": 1\n  }\n}'),
        ('{"a": [1,2], "x": "\\u00fc"}\n', '{"a": [1,2], "x": "\\u00fc", "b": {"c": 1}}\n'),
        ('{\n\t"a": [1, 2],\n}'.replace(",\n", "\n"), '{\n\t"a": [1, 2],\n\t"b": {\n\t\t"c": 1\n\t}\n}'),
        ('{ "a": 1 }', '{ "a": 1, "b": {"c": 1} }'),
    ],
)
def test_what_is_added_is_written_like_what_is_there(text: str, expected: str) -> None:
    """Its indentation, or its one line; what is there stays as it is."""
    assert rewrite(text, {**json.loads(text), "b": {"c": 1}}, interiors={}) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("{ }", (), " "),
        ('{"a": {"b": [\n]}}', ("a", "b"), "\n"),
        ('{"a": {"b": [1]}}', ("a", "b"), None),
        ('{"a": []}', ("a", "b"), None),
        ('{"a": 1}', ("a",), None),
    ],
)
def test_the_space_in_an_empty_container_can_be_kept(
    text: str, path: tuple[str, ...], expected: str | None
) -> None:
    """Only that of an empty one: else there is none to lose."""
    assert interior(text, path) == expected
