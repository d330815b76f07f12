"""A project of this home, and a project of another device. Both own memories under their id."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from commonplace.projects.git_fingerprint import Clues


@dataclass(frozen=True, slots=True, kw_only=True)
class DistantProject:
    """A project of another device with which this home syncs.

    Attributes:
        id: Its id, which is its scope in knowledge memory.
        name: Its readable name, which may change.
        clues: The clues by which its clone is recognised; empty outside of Git and for a directory in a repository.
        merged_into: The id of the project whose memory it uses instead of its own.
    """

    id: str
    name: str
    clues: Clues = field(default_factory=Clues)
    merged_into: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project that this home has seen.

    Attributes:
        id: Its id, which is its butler and its scope in knowledge memory.
        name: Its readable name, which may change; several projects may have the same name.
        path: The directory where it was last seen.
        file: The file that holds its identity; in the home if the project's own file cannot be written.
        seen_at: The time when it was last seen, to the day.
        clues: The clues by which a clone or a copy is recognised.
        merged_into: The id of the project whose memory it uses instead of its own.
        looks_like: The ids of projects of which it seems to be a clone or a copy.
        is_off: Whether hooks of hosts do nothing in it.
        inner: The directory below the top of its repository, as a relative POSIX path; empty for the top.
    """

    id: str
    name: str
    path: Path
    file: Path
    seen_at: datetime
    clues: Clues
    merged_into: str | None = None
    looks_like: tuple[str, ...] = ()
    is_off: bool = False
    inner: str = ""

    def as_distant(self) -> DistantProject:
        """Return the project as other devices know it.

        The clues are those of the whole repository, so a directory in it has none.
        """
        clues = Clues() if self.inner else self.clues.shared()
        return DistantProject(id=self.id, name=self.name, clues=clues, merged_into=self.merged_into)
