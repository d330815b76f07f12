"""The sidebar with its pages, in the order of the specification (OPS-12: Events, Memories, Cooldowns)."""

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class SidebarEntry:
    """A page in the sidebar, or a tab of one.

    Attributes:
        path: Its path; pages below the path count as part of it.
        label: Its name.
        icon: A name from ``templates/icons.html``; a tab has none.
        tabs: The pages that share the entry, the page itself first. They appear as tabs above the content.
        is_alone: Whether the pages below it have their own entries.
        of_installation: Whether only the tenant of the installation may see it.
        counts_reviews: Whether it shows the number of items that wait for a review.
    """

    path: str
    label: str
    icon: str = ""
    tabs: tuple["SidebarEntry", ...] = ()
    is_alone: bool = False
    of_installation: bool = False
    counts_reviews: bool = False

    def holds(self, path: str) -> bool:
        """Return whether a path is this page, a page below it or one of its tabs."""
        below = self.path != "/" and not self.is_alone and path.startswith(f"{self.path}/")
        return path == self.path or below or any(tab.holds(path) for tab in self.tabs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidebarSection:
    """Pages under one heading of the sidebar."""

    heading: str
    entries: tuple[SidebarEntry, ...]


SIDEBAR: Final = (
    SidebarSection(
        heading="",
        entries=(
            SidebarEntry(path="/", label="Overview", icon="overview", of_installation=True),
            SidebarEntry(path="/week", label="This week", icon="week", of_installation=True),
            SidebarEntry(
                path="/reviews", label="Review", icon="review", of_installation=True, counts_reviews=True
            ),
            SidebarEntry(path="/briefing", label="Try a prompt", icon="prompt", of_installation=True),
        ),
    ),
    SidebarSection(
        heading="Scheduled agents",
        entries=(
            SidebarEntry(path="/sessions", label="Sessions", icon="sessions", of_installation=True),
            SidebarEntry(path="/events", label="Events", icon="events", of_installation=True),
            SidebarEntry(path="/memories", label="Lessons", icon="lessons", of_installation=True),
            SidebarEntry(path="/cooldowns", label="Cooldowns", icon="cooldowns", of_installation=True),
        ),
    ),
    SidebarSection(
        heading="Apps and workspace",
        entries=(
            SidebarEntry(path="/apps", label="Digests", icon="digests", of_installation=True),
            SidebarEntry(path="/workspace", label="Notes", icon="notes", of_installation=True),
        ),
    ),
    SidebarSection(
        heading="Knowledge",
        entries=(
            SidebarEntry(path="/knowledge/facts", label="Facts", icon="facts"),
            SidebarEntry(path="/knowledge/rules", label="Rules", icon="rules"),
            SidebarEntry(path="/knowledge/episodes", label="Episodes", icon="episodes"),
            SidebarEntry(
                path="/knowledge/entities",
                label="Entities",
                icon="entities",
                tabs=(
                    SidebarEntry(path="/knowledge/entities", label="List"),
                    SidebarEntry(path="/knowledge/graph", label="Graph"),
                ),
            ),
            SidebarEntry(
                path="/knowledge",
                label="Upkeep",
                icon="tool",
                is_alone=True,
                tabs=(
                    SidebarEntry(path="/knowledge", label="Summary", is_alone=True),
                    SidebarEntry(path="/knowledge/runs", label="Runs"),
                    SidebarEntry(path="/knowledge/events", label="Audit log"),
                    SidebarEntry(path="/workers", label="Workers", of_installation=True),
                ),
            ),
            SidebarEntry(path="/safe", label="Keep safe", icon="safe", of_installation=True),
            SidebarEntry(path="/devices", label="Devices", icon="devices", of_installation=True),
        ),
    ),
)


def sidebar(*, of_installation: bool) -> tuple[SidebarSection, ...]:
    """Return the sections of the sidebar that a caller may see.

    Args:
        of_installation: Whether the caller belongs to the installation; other tenants see knowledge memory only.
    """
    if of_installation:
        return SIDEBAR
    sections = (replace(section, entries=_for_all(section.entries)) for section in SIDEBAR)
    return tuple(section for section in sections if section.entries)


def _for_all(entries: tuple[SidebarEntry, ...]) -> tuple[SidebarEntry, ...]:
    """Return the entries and tabs that every tenant may see."""
    return tuple(replace(entry, tabs=_for_all(entry.tabs)) for entry in entries if not entry.of_installation)
