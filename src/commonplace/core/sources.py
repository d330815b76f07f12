"""The source of a memory: where its text comes from, in order of trust. Pure.

A memory that is derived from others has the least trusted of their sources. When a person confirms a memory, its trust
becomes that of a person; its source stays the same.
Source: LIF-05.
"""

from enum import StrEnum
from typing import Final


class Source(StrEnum):
    """The sources of memories, the most trusted first."""

    PERSON = "person"
    """A person wrote or confirmed it, on the command line or the dashboard."""
    AGENT = "agent"
    """An agent wrote it, or a model made it from an agent's sessions."""
    IMPORT = "import"
    """It was imported from another program."""
    DOCUMENT = "document"
    """An agent read it in a document."""
    TOOL = "tool"
    """A tool returned it."""
    WEB = "web"
    """It comes from a web page, which anybody can write."""


RANKS: Final = {source: len(Source) - place for place, source in enumerate(Source)}
"""The order of trust: a higher number is more trusted."""


def least_trusted(source: Source, *others: str | None) -> Source:
    """Return the least trusted of some sources; ``None`` is no source."""
    sources = [source, *(Source(each) for each in others if each is not None)]
    return min(sources, key=RANKS.__getitem__)


def at_least(min_trust: Source) -> list[Source]:
    """Return the sources that are trusted at least as much as one of them."""
    return [source for source in Source if RANKS[source] >= RANKS[min_trust]]
