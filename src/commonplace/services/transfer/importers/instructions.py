"""Instructions for agents in Markdown: ``CLAUDE.md``, ``AGENTS.md``, rules of Cursor and Copilot, and the like.

Each list item and each paragraph becomes a rule, with the code block that follows it. The headings above it become its
tags. The paths of the front matter, for which the rules are, stand before the text. Files that others include
(``@path``) are read, too.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.errors import InvalidInputError
from commonplace.knowledge import RuleDraft
from commonplace.services.transfer.items import Read, Unreadable
from commonplace.services.transfer.markdown_blocks import Block, blocks
from commonplace.services.transfer.markdown_notes import MarkdownNote, read_note
from commonplace.services.transfer.naming import tags_of
from commonplace.services.transfer.own_texts import without_own_lines

FILES: Final = (
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    ".claude/rules/**/*.md",
    "AGENTS.md",
    "GEMINI.md",
    ".cursor/rules/**/*.mdc",
    ".github/copilot-instructions.md",
    ".github/instructions/**/*.instructions.md",
)
"""The files with instructions in the folder of a project."""
MOST_DEEP: Final = 5
"""The number of files that may include one another in a row, below the first. Source: Claude Code."""

_INCLUDE: Final = re.compile(r"(?:(?<=\s)|(?<=\()|^)@([^\s`@,;()]+)", re.MULTILINE)
_TEXT_FILES: Final = frozenset({"", ".md", ".mdc", ".markdown", ".txt"})
_BETWEEN: Final = frozenset({"and", "or", "see", "also", "plus", "und", "oder", "siehe"})
"""Words that may stand between the files that a line includes."""
_PATH_FIELDS: Final = ("paths", "globs", "applyTo")
_COMMA: Final = re.compile(r",(?![^{}]*\})")
_EVERYTHING: Final = frozenset({"*", "**", "**/*"})


def read(path: Path, *, own: bool = False) -> Read:
    """Yield the rules of a file, or of all files with instructions in a folder.

    Args:
        path: The file or folder.
        own: Whether to yield the lines that ``commonplace export`` wrote, too.
    """
    reader = _Reader(_repository_of(path if path.is_dir() else path.parent), own=own)
    for file in files_of(path) if path.is_dir() else [path]:
        yield from reader.read(file)


def files_of(folder: Path) -> list[Path]:
    """Return the files with instructions in a folder, in the order of their programs."""
    return [file for pattern in FILES for file in sorted(folder.glob(pattern))]


def _repository_of(folder: Path) -> Path:
    """Return the nearest folder with ``.git`` at or above a folder; the folder itself if there is none."""
    folder = folder.resolve()
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


class _Reader:
    """Reads files with what they include, each file once.

    Args:
        root: The folder that included files must be in.
        own: Whether to read the lines that ``commonplace export`` wrote.
    """

    def __init__(self, root: Path, *, own: bool) -> None:
        self._root = root
        self._own = own
        self._seen: set[Path] = set()

    def read(self, file: Path, depth: int = 0, paths: tuple[str, ...] = ()) -> Read:
        """Yield the rules of a file and of the files that it includes; ``paths`` are those of the including file."""
        place = self._place(file)
        try:
            real = file.resolve()
            if real in self._seen:
                return
            self._seen.add(real)
            note = read_note(file, place)
        except (InvalidInputError, OSError, RuntimeError) as error:
            yield Unreadable(place=place, reason=str(error))
            return
        yield from note.problems
        yield from self._rules(note, depth, _paths(note.fields) or paths)

    def _rules(self, note: MarkdownNote, depth: int, paths: tuple[str, ...]) -> Read:
        included: list[Path] = []
        text = note.text if self._own else without_own_lines(note.text)
        for block in blocks(text):
            names = [found[1].rstrip(".:!?") for found in _INCLUDE.finditer(block.prose)]
            files = {name: file for name in names if (file := self._file(note.path, name))}
            included += files.values()
            if not _only_includes(block, [name for name in names if name in files or _is_path(name)]):
                yield _rule(note, block, paths)
        for file in included if depth < MOST_DEEP else ():
            yield from self.read(file, depth + 1, paths)

    def _file(self, including: Path, name: str) -> Path | None:
        """Return the file that a name stands for; ``None`` if it is none, or outside of the repository."""
        if name.startswith(("~", "/")):
            return None
        try:
            file = (including.parent / name.partition("#")[0]).resolve()
            is_text = file.suffix.lower() in _TEXT_FILES and not file.name.startswith(".") and file.is_file()
        except (OSError, RuntimeError, ValueError):
            return None
        return file if is_text and file.is_relative_to(self._root) else None

    def _place(self, file: Path) -> str:
        absolute = file.absolute()
        return str(absolute.relative_to(self._root)) if absolute.is_relative_to(self._root) else file.name


def _is_path(name: str) -> bool:
    """Return whether a name is written like a path, and not like the name of a person."""
    return "/" in name or name.startswith(".") or Path(name).suffix in _TEXT_FILES - {""}


def _only_includes(block: Block, names: list[str]) -> bool:
    """Return whether a block says nothing but which files it includes."""
    rest = block.text
    for name in names:
        rest = rest.replace(f"@{name}", " ")
    return bool(names) and _BETWEEN.issuperset(re.findall(r"\w+", rest.casefold()))


def _rule(note: MarkdownNote, block: Block, paths: tuple[str, ...]) -> RuleDraft:
    limits = [path for path in paths if path not in _EVERYTHING]
    space = "\n" if block.text.startswith(("```", "~~~")) else " "
    lead = f"For {', '.join(limits)}:{space}" if limits else ""
    return RuleDraft(
        content=f"{lead}{block.text}",
        tags=tags_of([note.path.name, *block.headings]),
        metadata={"paths": list(paths)} if paths else None,
    )


def _paths(fields: dict[str, Any]) -> tuple[str, ...]:
    """Return the patterns of paths for which the rules of a file are; empty for all."""
    if fields.get("alwaysApply") == "true":
        return ()
    return tuple(dict.fromkeys(path for name in _PATH_FIELDS for path in _patterns(fields.get(name))))


def _patterns(value: object) -> Iterator[str]:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    for each in values:
        for pattern in _COMMA.split(each) if isinstance(each, str) else ():
            if pattern.strip(" \t\"'"):
                yield pattern.strip(" \t\"'")
