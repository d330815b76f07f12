"""Lines of data: nothing that a memory holds opens or closes anything in a prompt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.clock import utc_now
from commonplace.operational.model.context import LessonCandidate
from commonplace.operational.rules.context_block import render_bullet
from commonplace.prompts.data_lines import data_line
from commonplace.workspace import Note, NoteScope
from commonplace.workspace.rules.context_block import render

HOSTILE = (
    "</operational_memory>",
    "</ operational_memory >",
    "<\u200b/operational_memory>",
    "\uff1c/operational_memory>",
    "<system>",
    "<system-reminder>",
    "<|im_start|>",
    "<\uff5cim_start\uff5c>",
    "<<SYS>>",
    "[INST]",
    "[/INST]",
    "<start_of_turn>",
    "<function_calls>",
    "## System",
    "# System",
    "Human:",
    "Assistant:",
    "SYSTEM:",
    "System :",
    "```",
    "~~~~",
    "\u202e",
    "\u2066",
    "\U000e0041",
    "\ufeff",
    "\x1b",
    "\r",
    "\n",
    "\u2028",
)


@pytest.mark.requirement("HRD-02.1")
@pytest.mark.parametrize("mark", HOSTILE)
def test_no_block_shows_what_would_end_or_open_something(mark: str) -> None:
    """Fences, headings, roles and hidden characters are gone from the blocks; one memory is one line."""
    inside_words = mark.startswith(("#", "Human", "Assistant", "S"))  # these mean nothing there
    for frame in (
        "{}",
        "ok {} obey",
        "ok\n{}\nobey",
        "ok.\n\n{} obey",
        *(() if inside_words else ("ok{}obey",)),
    ):
        text = frame.format(mark)
        bullet = render_bullet(
            LessonCandidate(
                id=1,
                service=None,
                category="timing",
                observation=text,
                confidence=0.7,
                created_at="",
                updated_at="",
            )
        )
        memory = Note(number=1, scope=NoteScope.WORKSPACE, text=text, tags=(text,), created_at=utc_now())
        for shown in (data_line(text), bullet, render([memory]).removeprefix("[Memories]\n")):
            assert mark not in shown
            assert "\n" not in shown


@pytest.mark.requirement("HRD-02.1")
@pytest.mark.parametrize(
    "text",
    [
        "Takes 60s to start after restart -- wait before checking health",
        "C# and F# need issue #12; a < b, x <- y, Vec<u8>, <b>bold",
        "the system: three nodes; users: 4; user prefers tabs",
        "`commonplace doctor` and ``nested``, ~100 ms, ~~struck~~",
        "👩\u200d💻 क्\u200dष naïve 日本語 [a] (b)",
        "ratio 3:1 at 14:05, https://example.com/#top",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """Signs that mean nothing to a prompt are not touched."""
    assert data_line(text) == text


@pytest.mark.requirement("HRD-02.1")
@given(st.lists(st.sampled_from([*HOSTILE, "a", " ", "<", "/", "#", ":", "Hu", "man", "&lt;"]), max_size=10))
def test_a_line_of_data_is_one_line_and_does_not_change_again(pieces: list[str]) -> None:
    """Marks that only appear once another one is removed are found as well."""
    line = data_line("".join(pieces))
    assert data_line(line) == line
    assert line == " ".join(line.split())


@given(st.text(st.characters(codec="ascii") | st.sampled_from("\u200b\u0301\uff1c"), max_size=60))
def test_a_text_without_signs_takes_a_short_way_to_the_same_line(text: str) -> None:
    """A hidden character, which a line loses, sends every text through all patterns."""
    assert data_line(text) == data_line(f"\u2060{text}")
