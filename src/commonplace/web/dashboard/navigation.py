"""The sidebar with its pages, in the order of the specification (OPS-12: Events, Memories, Cooldowns)."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A page in the sidebar.

    Attributes:
        path: Its path; pages below the path count as part of it.
        label: Its name in the sidebar.
        icon: A name from ``templates/icons.html``.
        is_alone: Whether the pages below it have entries of their own.
        of_installation: Whether it is for the tenant of the installation only.
        counts_reviews: Whether it shows how many pairs wait for a review.
    """

    path: str
    label: str
    icon: str
    is_alone: bool = False
    of_installation: bool = False
    counts_reviews: bool = False

    def holds(self, path: str) -> bool:
        """Return whether a path is this page or a page below it."""
        return path == self.path or (
            self.path != "/" and not self.is_alone and path.startswith(f"{self.path}/")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Pages under one heading of the sidebar."""

    heading: str
    entries: tuple[Entry, ...]


SIDEBAR: Final = (
    Section(
        heading="",
        entries=(
            Entry(path="/", label="Overview", icon="overview", of_installation=True),
            Entry(path="/week", label="This week", icon="week", of_installation=True),
            Entry(path="/briefing", label="Try a prompt", icon="prompt", of_installation=True),
        ),
    ),
    Section(
        heading="Operations",
        entries=(
            Entry(path="/sessions", label="Sessions", icon="sessions", of_installation=True),
            Entry(path="/events", label="Events", icon="events", of_installation=True),
            Entry(path="/memories", label="Memories", icon="memories", of_installation=True),
            Entry(path="/cooldowns", label="Cooldowns", icon="cooldowns", of_installation=True),
            Entry(path="/reviews", label="Review", icon="review", of_installation=True, counts_reviews=True),
        ),
    ),
    Section(
        heading="Agents",
        entries=(
            Entry(path="/apps", label="Apps", icon="apps", of_installation=True),
            Entry(path="/workspace", label="Workspace", icon="workspace", of_installation=True),
        ),
    ),
    Section(
        heading="Knowledge",
        entries=(
            Entry(path="/knowledge", label="Knowledge", icon="knowledge", is_alone=True),
            Entry(path="/knowledge/facts", label="Facts", icon="facts"),
            Entry(path="/knowledge/rules", label="Rules", icon="rules"),
            Entry(path="/knowledge/episodes", label="Episodes", icon="episodes"),
            Entry(path="/knowledge/entities", label="Entities", icon="entities"),
            Entry(path="/knowledge/graph", label="Graph", icon="graph"),
            Entry(path="/knowledge/runs", label="Runs", icon="sessions"),
            Entry(path="/knowledge/events", label="Audit log", icon="events"),
            Entry(path="/workers", label="Workers", icon="tool", of_installation=True),
        ),
    ),
)


def sidebar(*, of_installation: bool) -> tuple[Section, ...]:
    """Return the sections of the sidebar that a caller may see.

    Args:
        of_installation: Whether the caller belongs to the installation; other tenants see knowledge memory only.
    """
    if of_installation:
        return SIDEBAR
    sections = (
        replace(section, entries=tuple(entry for entry in section.entries if not entry.of_installation))
        for section in SIDEBAR
    )
    return tuple(section for section in sections if section.entries)
