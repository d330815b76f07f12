"""The source of a memory: who or what its text comes from, in an order of trust. Pure.

A memory that is derived from others has the weakest of their sources. A person who confirms a memory stands for it from
then on: its trust is then that of a person, and its source stays what it was.
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
    """It comes from a page of the web, which anybody can write."""


RANKS: Final = {source: len(Source) - place for place, source in enumerate(Source)}
"""The order of trust: the higher, the more trusted."""


def at_least(min_trust: Source) -> list[Source]:
    """Return the sources that are trusted at least as much as one of them."""
    return [source for source in Source if RANKS[source] >= RANKS[min_trust]]
