"""``projects.json`` in the home: the projects of this home and, under ``elsewhere``, those of other devices.

{"projects": {"api-7k3m2q9t": {"name": "api", …}}, "elsewhere": {"shop-4n8p5r2x": {"name": "shop", "clues": {…}}}}

Under ``moves`` are the merges whose memories this home has moved, as target by source.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from commonplace.core.clock import parse_timestamp
from commonplace.core.errors import InvalidInputError, NotFoundError, SettingsError
from commonplace.core.file_format import require_format
from commonplace.projects.git_fingerprint import Clues
from commonplace.projects.identity import NAMELESS, IdentityLocation, write_json
from commonplace.projects.merges import ProjectMoves, merges_in_force, project_moves, standing_for
from commonplace.projects.project import DistantProject, Project

FILE: Final = "projects.json"
_P = TypeVar("_P", Project, DistantProject)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryContents:
    """The projects of a home.

    Attributes:
        projects: The projects of this home, by their ids.
        elsewhere: The projects of other devices that this home does not have, by their ids.
        moves: The merges whose memories this home has moved, as target by source.
    """

    projects: Mapping[str, Project] = field(default_factory=dict[str, Project])
    elsewhere: Mapping[str, DistantProject] = field(default_factory=dict[str, DistantProject])
    moves: Mapping[str, str] = field(default_factory=dict[str, str])

    def by_id(self, project_id: str) -> Project | DistantProject | None:
        """Return the project with an id, wherever it is."""
        return self.projects.get(project_id) or self.elsewhere.get(project_id)

    def get(self, name: str) -> Project:
        """Return the project of this home with an id, or with a name that only one of them has.

        Raises:
            NotFoundError: No project has this id or name.
            InvalidInputError: Several projects have this name; the message lists them.
        """
        return _named(self.projects, name)

    def owner(self, name: str) -> Project | DistantProject:
        """Return the project as :meth:`get` does, or that of another device if this home has none of that name."""
        try:
            return self.get(name)
        except NotFoundError:
            return _named(self.elsewhere, name)

    def shared(self) -> dict[str, DistantProject]:
        """Return the projects that all devices may know, by their ids.

        A project that is off is not among them, unless it was merged or another one was merged into it.
        """
        targets = set(self._merges().values())
        own = {
            key: each.as_distant()
            for key, each in self.projects.items()
            if not each.is_off or each.merged_into is not None or key in targets
        }
        return {**self.elsewhere, **own}

    def merges(self) -> dict[str, str]:
        """Return the merges that hold, as target by source."""
        return merges_in_force(self._merges())

    def standing_id(self, project_id: str) -> str:
        """Return the id of the project whose memory a project uses; this home may not know that project."""
        return standing_for(project_id, self.merges())

    def project_moves(self) -> ProjectMoves | None:
        """Return how the memories of this home follow the merges; ``None`` if there are none to follow."""
        return project_moves(self.merges(), self.moves, {*self.projects, *self.elsewhere})

    def counterpart(self, clues: Clues) -> DistantProject | None:
        """Return the project of another device that a new clone belongs to.

        Exactly one agrees with the clues, or several that use one memory, and no repository of this home does. A fork
        is no clone.
        """
        if any(each.clues.agree(clues) for each in self.projects.values() if not each.inner):
            return None
        alike = {
            key: each
            for key, each in self.elsewhere.items()
            if each.clues.agree(clues) and not each.clues.are_of_fork(clues)
        }
        owners = {self.standing_id(key) for key in alike}
        if len(owners) != 1:
            return None
        return alike.get(owners.pop()) or alike[min(alike)]

    def clones_of(self, ids: Collection[str]) -> list[tuple[Project, DistantProject]]:
        """Return the projects that would have got the identity of one of these projects, had it been known.

        Projects that are off or use the memory of another project are left out.
        """
        pairs: list[tuple[Project, DistantProject]] = []
        for each in self.projects.values():
            others = {key: other for key, other in self.projects.items() if key != each.id}
            distant = replace(self, projects=others).counterpart(each.clues)
            is_own = not each.inner and not each.is_off and each.merged_into is None
            if is_own and distant is not None and distant.id in ids:
                pairs.append((each, distant))
        return pairs

    def alike(self, project: Project) -> tuple[str, ...]:
        """Return the ids of other projects whose clues agree with those of a project."""
        own = [
            each.id
            for each in self.projects.values()
            if each.file != project.file and each.clues.agree(project.clues)
        ]
        distant = [each.id for each in self.elsewhere.values() if self.is_alike(project, each)]
        return tuple(each for each in (*own, *distant) if each != project.id)

    def is_alike(self, project: Project, distant: DistantProject) -> bool:
        """Return whether a project may be the clone of another device's project, and does not use its memory."""
        return (
            not project.inner
            and project.clues.agree(distant.clues)
            and self.standing_id(project.id) != self.standing_id(distant.id)
        )

    def with_project(self, project: Project) -> "RegistryContents":
        """Return the contents with a project of this home, which then is not elsewhere."""
        elsewhere = {key: each for key, each in self.elsewhere.items() if key != project.id}
        return replace(self, projects={**self.projects, project.id: project}, elsewhere=elsewhere)

    def with_merge(self, project_id: str, into: str | None) -> "RegistryContents":
        """Return the contents with a project that uses the memory of another one, or its own again.

        The memories have moved already. Merges that did not hold before are gone, so that none of them comes back.
        """
        merges, in_force = self._merges(), self.merges()
        contents = self
        for each, target in {**dict.fromkeys(merges.keys() - in_force.keys()), project_id: into}.items():
            if own := contents.projects.get(each):
                contents = contents.with_project(replace(own, merged_into=target))
            else:
                contents = contents.with_distant(replace(contents.elsewhere[each], merged_into=target))
        moves = {key: each for key, each in self.moves.items() if key != project_id}
        return replace(contents, moves=moves if into is None else {**moves, project_id: into})

    def with_clues(self, clues: Mapping[str, Clues]) -> "RegistryContents":
        """Return the contents with the clues of projects of this home, by their ids."""
        contents = self
        for key in clues.keys() & self.projects.keys():
            project = replace(self.projects[key], clues=clues[key])
            looks_like = dict.fromkeys((*project.looks_like, *contents.alike(project)))
            contents = contents.with_project(replace(project, looks_like=tuple(looks_like)))
        return contents

    def with_distant(self, distant: DistantProject) -> "RegistryContents":
        """Return the contents with a project of another device; a project of this home gets its name and merge."""
        if own := self.projects.get(distant.id):
            return self.with_project(replace(own, name=distant.name, merged_into=distant.merged_into))
        contents = replace(self, elsewhere={**self.elsewhere, distant.id: distant})
        projects = {
            key: replace(each, looks_like=_resemblance(contents, each, distant))
            for key, each in self.projects.items()
        }
        return replace(contents, projects=projects)

    def without_distant(self, project_id: str) -> "RegistryContents":
        """Return the contents without a project of another device; one whose memory a project uses stays."""
        if project_id not in self.elsewhere or project_id in self._merges().values():
            return self
        projects = {
            key: replace(each, looks_like=_without(each.looks_like, project_id))
            for key, each in self.projects.items()
        }
        elsewhere = {key: each for key, each in self.elsewhere.items() if key != project_id}
        return replace(self, projects=projects, elsewhere=elsewhere)

    def without_names(self, ids: Collection[str]) -> "RegistryContents":
        """Return the contents without the names of projects.

        A project of another device is dropped, unless another project uses its memory.
        """
        contents = self
        for each in ids:
            contents = contents.without_distant(each)
            if distant := contents.elsewhere.get(each):
                contents = contents.with_distant(replace(distant, name=NAMELESS, clues=Clues()))
            elif own := contents.projects.get(each):
                contents = contents.with_project(replace(own, name=NAMELESS))
        return contents

    def _merges(self) -> dict[str, str]:
        """Return all merges, those of a circle too."""
        return {
            key: each.merged_into
            for key, each in (*self.elsewhere.items(), *self.projects.items())
            if each.merged_into is not None
        }


class RegistryFile:
    """The file with the projects of a home.

    Args:
        path: The file; it is made when it is first written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> RegistryContents:
        """Return the contents; those of a release that knew no other devices, too.

        Raises:
            SettingsError: The file cannot be read.
            FileTooNewError: A newer release wrote the file.
        """
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            require_format(document, path=self.path)
            own = cast("Mapping[str, Mapping[str, Any]]", document["projects"])
            elsewhere = cast("Mapping[str, Mapping[str, Any]]", document.get("elsewhere", {}))
            return RegistryContents(
                projects={key: _project(key, entry) for key, entry in own.items()},
                elsewhere={key: _distant(key, entry) for key, entry in elsewhere.items()},
                moves=dict(document.get("moves", {})),
            )
        except FileNotFoundError:
            return RegistryContents()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SettingsError(f"{self.path}: expected the projects of this home, got {error!r}") from None

    def write(self, contents: RegistryContents) -> None:
        """Replace the contents.

        Raises:
            StorageUnavailableError: The file cannot be written.
        """
        own = {each.id: _entry(each) for each in contents.projects.values()}
        elsewhere = {
            each.id: {"name": each.name, "clues": asdict(each.clues), "merged_into": each.merged_into}
            for each in contents.elsewhere.values()
        }
        document = {"projects": own, "elsewhere": elsewhere, "moves": dict(contents.moves)}
        write_json(self.path, document, mode=0o700)


def _named(projects: Mapping[str, _P], name: str) -> _P:
    if name in projects:
        return projects[name]
    alike = [each for each in projects.values() if each.name == name]
    if len(alike) > 1:
        several = "; ".join(_labelled(each) for each in alike)
        raise InvalidInputError(
            "project", f"an id, because several projects have this name ({several})", name
        )
    if not alike:
        raise NotFoundError("project", name)
    return alike[0]


def _labelled(project: Project | DistantProject) -> str:
    return (
        f"{project.id} at {project.path}"
        if isinstance(project, Project)
        else f"{project.id} on another device"
    )


def _project(key: str, entry: Mapping[str, Any]) -> Project:
    file, path = Path(entry["file"]), Path(entry["path"])
    inner = entry.get("inner")
    return Project(
        id=key,
        name=entry["name"],
        path=path,
        file=file,
        seen_at=parse_timestamp(entry["seen_at"]),
        clues=Clues(**entry["clues"]),
        merged_into=entry["merged_into"],
        looks_like=tuple(entry["looks_like"]),
        is_off=bool(entry.get("is_off")),
        inner=_inner_of(key, file, path) if inner is None else inner,
    )


def _distant(key: str, entry: Mapping[str, Any]) -> DistantProject:
    clues = Clues(**entry["clues"])
    return DistantProject(id=key, name=entry["name"], clues=clues, merged_into=entry.get("merged_into"))


def _inner_of(project_id: str, file: Path, path: Path) -> str:
    """Return the directory of a project below the top, which earlier releases did not store."""
    try:
        identities = IdentityLocation(file=file, top=path, inner="").read()
    except SettingsError:
        return ""
    return next((inner for inner, each in identities.items() if each.id == project_id), "")


def _entry(project: Project) -> dict[str, object]:
    return {
        "name": project.name,
        "path": str(project.path),
        "file": str(project.file),
        "seen_at": project.seen_at.isoformat(),
        "clues": asdict(project.clues),
        "merged_into": project.merged_into,
        "looks_like": list(project.looks_like),
        "is_off": project.is_off,
        "inner": project.inner,
    }


def _resemblance(contents: RegistryContents, project: Project, distant: DistantProject) -> tuple[str, ...]:
    """Return which projects a project looks like, now that one of another device is known."""
    others = _without(project.looks_like, distant.id)
    return (*others, distant.id) if contents.is_alike(project, distant) else others


def _without(ids: tuple[str, ...], project_id: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != project_id)
