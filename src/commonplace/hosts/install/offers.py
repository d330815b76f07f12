"""Folders and files of a host that may be followed as sources."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

OF_PROJECT: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("CLAUDE.md",),
    "codex": ("AGENTS.md",),
    "gemini": ("GEMINI.md",),
    "opencode": ("AGENTS.md",),
    "cursor": (".cursor/rules",),
}
OF_USER: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": (".claude/projects/{slug}/memory",),
    "codex": (".codex/memories",),
}
"""Paths below the user's home; ``{slug}`` stands for the project, as Claude Code names its folder."""


def project_slug(project: Path) -> str:
    """Return the name of the folder in which Claude Code keeps what belongs to a project."""
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in str(project))


def offered(host: str, project: Path, user: Path) -> list[Path]:
    """Return the folders and files of a host that are there: of a project first, then of its user."""
    paths = [project / name for name in OF_PROJECT.get(host, ())]
    paths += [user / name.format(slug=project_slug(project)) for name in OF_USER.get(host, ())]
    return [path for path in paths if path.exists()]
