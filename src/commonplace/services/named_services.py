"""The services that a prompt or the files of a project name, whose lessons a session there needs.

A session in the code of a shop needs no lessons about a NAS; one in a folder with a compose file needs those of the
services in it.

Source: SHW-05.
"""

import re
from pathlib import Path
from typing import Final

from commonplace.operational import MemoryContext, OperationalMemory
from commonplace.services.code.project_code import beginning

PROJECT_FILES: Final = (
    "README*",
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    "compose*.y*ml",
    "docker-compose*.y*ml",
    "pyproject.toml",
    "package.json",
)
"""The files at the top of a project that say what it is about."""

MOST_FILES: Final = 12
MOST_BYTES: Final = 64_000
"""The part of a file that is read."""

_BETWEEN: Final = re.compile(r"[\s._/-]+")


def project_text(directory: Path) -> str:
    """Return what a project says of itself: the name of its directory, and the files of :data:`PROJECT_FILES`.

    A file that cannot be read is left out.
    """
    files = sorted({path for pattern in PROJECT_FILES for path in directory.glob(pattern)})[:MOST_FILES]
    return "\n".join([directory.name, *(beginning(path, MOST_BYTES) for path in files)])


async def named_services(operational: OperationalMemory, text: str) -> list[str]:
    """Return the services with lessons whose name stands in a text, in whatever case and with whatever dashes."""
    names = [each.service for each in await operational.figures.services() if each.service]
    words = f" {_plain(text)} "
    return [name for name in names if f" {_plain(name)} " in words]


async def lessons_for(
    operational: OperationalMemory, text: str, *, budget_tokens: int | None
) -> MemoryContext:
    """Return the block of the lessons of the services that a text names, and of the general ones if it names any."""
    services = await named_services(operational, text)
    return await operational.context(budget_tokens=budget_tokens, services=services, others=False, dates=True)


def _plain(text: str) -> str:
    """Return a text in small letters, with one space for all that stands between words."""
    return " ".join(re.findall(r"\w+", _BETWEEN.sub(" ", text.casefold())))
