"""Views of a server: the tools that it shows, and the names that keep the tools of several servers apart."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from commonplace.core.errors import InvalidInputError

MAX_PREFIX_CHARS: Final = 30
_PREFIX: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MAX_PREFIX_CHARS - 1}}}")


class Profile(StrEnum):
    """The tools that a server shows."""

    FULL = "full"
    """All tools with all parameters."""
    AGENT = "agent"
    """The tools that an agent needs while it works, with short descriptions; none for upkeep."""


class _Tool(Protocol):
    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """The names of a server's tools as a client sees them.

    Attributes:
        prefix: Precedes each name, followed by an underscore; empty for plain names.
        tools: The plain names.
    """

    prefix: str
    tools: frozenset[str]

    def shown(self, tool: str) -> str:
        """Return the name of a tool as a client sees it."""
        return f"{self.prefix}_{tool}" if self.prefix else tool

    def within(self, text: str) -> str:
        """Return a text for a model, with the names of the tools as the client sees them."""
        if not self.prefix:
            return text
        return re.sub(r"\w+", lambda word: self.shown(word[0]) if word[0] in self.tools else word[0], text)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """How a client sees a server.

    Attributes:
        butler: The default of ``butler`` and ``scope`` in tools of knowledge memory, and the reader of its resources.
        prefix: A prefix for the names of tools and prompts.
        profile: The tools to show.

    Raises:
        InvalidInputError: The prefix cannot be part of a name.
    """

    butler: str | None = None
    prefix: str = ""
    profile: Profile = Profile.FULL

    def __post_init__(self) -> None:
        """Check the prefix."""
        if self.prefix and not _PREFIX.fullmatch(self.prefix):
            form = f"a letter, then letters, digits, _ or -, at most {MAX_PREFIX_CHARS} characters"
            raise InvalidInputError("prefix", form, self.prefix)

    def names(self, tools: Iterable[_Tool]) -> ToolNames:
        """Return the names of tools."""
        return ToolNames(prefix=self.prefix, tools=frozenset(tool.name for tool in tools))


WHOLE: Final = View()
"""All tools under their plain names, with no default of ``butler``."""
