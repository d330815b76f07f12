"""Texts that a host puts into each session by itself: its instructions, and the index of its own memory.

A briefing or a prompt does not repeat them, neither word for word nor in other words.

Source: FOL-02.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

from commonplace.core.errors import CommonplaceError
from commonplace.core.text import collapse_whitespace
from commonplace.hosts.hooks.hook_input import HookCall
from commonplace.hosts.install.offers import project_slug
from commonplace.judge import Comparisons
from commonplace.knowledge import Memory, RuleDraft
from commonplace.services.transfer.importers import instructions

FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"),
    "codex": ("AGENTS.md",),
    "gemini": ("GEMINI.md",),
    "opencode": ("AGENTS.md", "CLAUDE.md"),
    "cursor": ("AGENTS.md", ".cursor/rules/*.mdc"),
}
"""The files of a project that a host loads by itself, by host."""

OF_USER: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": (".claude/CLAUDE.md",),
    "codex": (".codex/AGENTS.md",),
    "gemini": (".gemini/GEMINI.md",),
    "opencode": (".config/opencode/AGENTS.md",),
}
"""The files of a user that a host loads by itself, below the user's home, by host."""

MOST_BYTES: Final = 200_000
"""A longer file is not read, because every prompt waits."""

_INDEX_LINE: Final = re.compile(r"^- \[(?P<title>[^\]]+)\]\([^)]*\)(?:\W+(?P<hook>\w.*))?$", re.MULTILINE)


class LoadedTexts:
    """The texts that a host loads into the sessions of a project.

    Args:
        host: The name of the host, such as ``claude-code``.
        project: The directory of the session.
        user: The home directory of the user.
    """

    def __init__(self, host: str, project: Path, user: Path) -> None:
        self._host = host
        self._project = project
        self._user = user
        self._comparisons = Comparisons()

    def repeat(self, memory: Memory) -> bool:
        """Return whether a session has the text of a memory already.

        The text is the same, or says the same in other words, as far as there is time to compare.
        """
        if not self._texts:
            return False
        text = _plain(memory.content)
        if text in self._plain_texts:
            return True
        return self._comparisons.repeated(memory.content, self._texts) is not None

    @cached_property
    def _files(self) -> list[Path]:
        names = FILES.get(self._host, ())
        paths = [
            path
            for folder in _up_to_repository(self._project)
            for name in names
            for path in folder.glob(name)
        ]
        paths += [self._user / name for name in OF_USER.get(self._host, ())]
        return [path for path in dict.fromkeys(paths) if path.is_file() and path.stat().st_size <= MOST_BYTES]

    @cached_property
    def _texts(self) -> list[str]:
        return [*self._rules(), *self._index()]

    @cached_property
    def _plain_texts(self) -> frozenset[str]:
        return frozenset(map(_plain, self._texts))

    def _rules(self) -> Iterator[str]:
        for path in self._files:
            try:
                rules = instructions.read(path, own=True)
                yield from (item.content for item in rules if isinstance(item, RuleDraft))
            except (CommonplaceError, OSError):  # A file that cannot be read repeats nothing.
                continue

    def _index(self) -> Iterator[str]:
        """Yield the lines of the index of Claude Code's own memory of the project."""
        if self._host != "claude-code":
            return
        index = self._user / ".claude/projects" / project_slug(self._project) / "memory/MEMORY.md"
        try:
            text = index.read_text(encoding="utf-8", errors="replace")[:MOST_BYTES]
        except OSError:
            return
        for line in _INDEX_LINE.finditer(text):
            yield line["hook"] or line["title"]


def loaded_texts(call: HookCall) -> LoadedTexts:
    """Return what the host of a call loads into its session."""
    return LoadedTexts(call.host, call.settings.workspace, Path.home())


def _up_to_repository(directory: Path) -> list[Path]:
    """Return a directory and those above it up to the top of its repository; outside of one, the directory alone."""
    folders = [directory, *directory.parents]
    top = next((place for place, each in enumerate(folders) if (each / ".git").exists()), 0)
    return folders[: top + 1]


def _plain(text: str) -> str:
    return collapse_whitespace(text).casefold()
