"""The forms of mirrors: how a host writes memories. Pure.

A form has notes (a file for each memory), or lines in a file that holds other texts as well, or both.

Source: MIR-01.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import quote

from commonplace.core.sources import Source
from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.knowledge import GLOBAL_SCOPE, Fact, Rule
from commonplace.services.transfer.own_texts import MARK

MAX_TITLE_CHARS: Final = 60
MAX_DESCRIPTION_CHARS: Final = 150

MAX_STEM_BYTES: Final = 180
"""The length of the name of a file, so that a draft beside it has room for its own."""

_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_FENCED: Final = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_NOT_IN_NAMES: Final = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|#^\[\]]+")
_MENTION: Final = re.compile(r"(?<![\w`])@[^\s`]+")


class MirrorForm(StrEnum):
    """A form of mirrors."""

    CLAUDE_MEMORY = "claude-memory"
    AGENTS_MD = "agents-md"
    OBSIDIAN = "obsidian"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteContent:
    """A note to write.

    Attributes:
        stem: The name of the file without its ending, which other notes may have too.
        fields: The front matter.
        text: The text below it.
    """

    stem: str
    fields: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of the files of a form.

    Attributes:
        note: Makes the note of a memory; ``None`` for a form without notes.
        file: The file with lines; empty for a form without lines.
        lines: Makes the lines of memories, each with the name of its note.
        edits_by: The source of an edit in a note: who works with these files.
    """

    note: Callable[[Fact | Rule], NoteContent] | None = None
    file: str = ""
    lines: Callable[[Sequence[tuple[str, Fact | Rule]]], list[str]] = lambda _: []
    edits_by: Source = Source.PERSON


def name_of(memory: Fact | Rule) -> str:
    """Return the type and id of a memory, as notes and records name it."""
    return f"{memory.memory_type}:{memory.id}"


def title_of(memory: Fact | Rule) -> str:
    """Return a title of one line: the subject and predicate of a fact, the first words of a rule."""
    text = f"{memory.subject} {memory.predicate}" if isinstance(memory, Fact) else memory.content
    return trim_to(collapse_whitespace(text), MAX_TITLE_CHARS).rstrip(" .,;:")


def file_stem(title: str) -> str:
    """Return a title as the name of a file on every system; never empty."""
    stem = collapse_whitespace(_NOT_IN_NAMES.sub(" ", title)).strip(". -`#~") or "memory"
    short = stem.encode()[:MAX_STEM_BYTES].decode(errors="ignore").strip()
    return f"{short}_" if _RESERVED.fullmatch(short) else short


def _obsidian_note(memory: Fact | Rule) -> NoteContent:
    key = {"subject": memory.subject, "predicate": memory.predicate} if isinstance(memory, Fact) else {}
    tags = {"tags": [re.sub(r"[^\w/-]+", "-", tag) for tag in memory.tags]} if memory.tags else {}
    fields = {
        MARK: name_of(memory),
        "kind": str(memory.memory_type),
        **key,
        **tags,
    }
    return NoteContent(stem=file_stem(title_of(memory)), fields=fields, text=memory.content.strip())


def _claude_note(memory: Fact | Rule) -> NoteContent:
    """Return a note as Claude Code writes its own: feedback is a rule, and a fact is about the user or the project."""
    of_fact = "user" if memory.scope == GLOBAL_SCOPE else "project"
    title = title_of(memory)
    fields = {
        "name": title,
        "description": trim_to(collapse_whitespace(memory.content), MAX_DESCRIPTION_CHARS),
        MARK: name_of(memory),
        "metadata": {
            "node_type": "memory",
            "type": "feedback" if isinstance(memory, Rule) else of_fact,
        },
    }
    stem = re.sub(r"[^\w]+", "-", title.casefold()).strip("-") or "memory"
    return NoteContent(stem=file_stem(f"{MARK}_{stem}"), fields=fields, text=memory.content.strip())


def _index_lines(named: Sequence[tuple[str, Fact | Rule]]) -> list[str]:
    return [
        f"- [{_harmless(re.sub(r'[][]', '', title_of(memory)))}]({quote(file)}) — "
        f"{_harmless(trim_to(collapse_whitespace(memory.content), MAX_DESCRIPTION_CHARS))}"
        for file, memory in named
    ]


def _instruction_lines(named: Sequence[tuple[str, Fact | Rule]]) -> list[str]:
    """Return a list of the rules, then of the facts with their subjects."""
    memories = [memory for _, memory in named]
    rules = [_item(each.content) for each in memories if isinstance(each, Rule)]
    facts = [_item(f"{title_of(each)}: {each.content}") for each in memories if isinstance(each, Fact)]
    parts = [(title, items) for title, items in (("Rules", rules), ("Facts", facts)) if items]
    return [line for title, items in parts for line in ("", f"## {title} from memory", "", *items)][1:]


def _item(text: str) -> str:
    """Return a text as an item of a list; its further lines are indented."""
    return f"- {_harmless(text.strip())}".replace("\n", "\n  ")


def _harmless(text: str) -> str:
    """Return a text in which a host finds neither a comment nor a file to include; hosts include nothing in code."""
    parts, end = list[str](), 0
    for code in _FENCED.finditer(text):
        parts += [
            _prose(text[end : code.start()]),
            code[0].replace("<!-- commonplace", "&lt;!-- commonplace"),
        ]
        end = code.end()
    return "".join([*parts, _prose(text[end:])])


def _prose(text: str) -> str:
    return _MENTION.sub(
        lambda found: f"`{found[0]}`", text.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    )


LAYOUTS: Final[Mapping[MirrorForm, Layout]] = {
    MirrorForm.CLAUDE_MEMORY: Layout(
        note=_claude_note, file="MEMORY.md", lines=_index_lines, edits_by=Source.AGENT
    ),
    MirrorForm.AGENTS_MD: Layout(file="AGENTS.md", lines=_instruction_lines),
    MirrorForm.OBSIDIAN: Layout(note=_obsidian_note),
}
"""The layout of each form."""
