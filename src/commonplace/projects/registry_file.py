"""``projects.json`` in the home: the projects of this home and, under ``elsewhere``, those of other devices.

{"projects": {"api-7k3m2q9t": {"name": "api", …}}, "elsewhere": {"shop-4n8p5r2x": {"name": "shop", "clues": {…}}}}
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
from commonplace.projects.project import DistantProject, Project

FILE: Final = "projects.json"
_P = TypeVar("_P", Project, DistantProject)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryContents:
    """The projects of a home, and those of other devices that this home does not have, by their ids."""

    projects: Mapping[str, Project] = field(default_factory=dict[str, Project])
    elsewhere: Mapping[str, DistantProject] = field(default_factory=dict[str, DistantProject])

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
        """Return the projects that all devices may know, by their ids."""
        own = {key: each.as_distant() for key, each in self.projects.items()}
        return {**self.elsewhere, **{key: each for key, each in own.items() if each is not None}}

    def counterpart(self, clues: Clues) -> DistantProject | None:
        """Return the project of another device that a new clone belongs to.

        Exactly one agrees with the clues, and no repository of this home does. A fork is no clone.
        """
        if any(each.clues.agree(clues) for each in self.projects.values() if not each.inner):
            return None
        alike = [
            each
            for each in self.elsewhere.values()
            if each.clues.agree(clues) and not each.clues.are_of_fork(clues)
        ]
        return alike[0] if len(alike) == 1 else None

    def alike(self, project: Project) -> tuple[str, ...]:
        """Return the ids of other projects whose clues agree with those of a project."""
        own = [
            each.id
            for each in self.projects.values()
            if each.file != project.file and each.clues.agree(project.clues)
        ]
        distant = [each.id for each in self.elsewhere.values() if _is_alike(project, each)]
        return tuple(each for each in (*own, *distant) if each != project.id)

    def with_project(self, project: Project) -> "RegistryContents":
        """Return the contents with a project of this home, which then is not elsewhere."""
        elsewhere = {key: each for key, each in self.elsewhere.items() if key != project.id}
        return RegistryContents(projects={**self.projects, project.id: project}, elsewhere=elsewhere)

    def with_clues(self, clues: Mapping[str, Clues]) -> "RegistryContents":
        """Return the contents with the clues of projects of this home, by their ids."""
        contents = self
        for key in clues.keys() & self.projects.keys():
            project = replace(self.projects[key], clues=clues[key])
            looks_like = dict.fromkeys((*project.looks_like, *contents.alike(project)))
            contents = contents.with_project(replace(project, looks_like=tuple(looks_like)))
        return contents

    def with_distant(self, distant: DistantProject) -> "RegistryContents":
        """Return the contents with a project of another device; a project of this home gets its name."""
        if own := self.projects.get(distant.id):
            return self.with_project(replace(own, name=distant.name))
        projects = {
            key: replace(each, looks_like=_resemblance(each, distant)) for key, each in self.projects.items()
        }
        return RegistryContents(projects=projects, elsewhere={**self.elsewhere, distant.id: distant})

    def without_distant(self, project_id: str) -> "RegistryContents":
        """Return the contents without a project of another device; one whose memory a project uses stays."""
        if project_id not in self.elsewhere or self._is_in_use(project_id):
            return self
        projects = {
            key: replace(each, looks_like=_without(each.looks_like, project_id))
            for key, each in self.projects.items()
        }
        elsewhere = {key: each for key, each in self.elsewhere.items() if key != project_id}
        return RegistryContents(projects=projects, elsewhere=elsewhere)

    def without_names(self, ids: Collection[str]) -> "RegistryContents":
        """Return the contents without the names of projects.

        A project of another device is dropped, unless a project of this home uses its memory.
        """
        contents = self
        for each in ids:
            contents = contents.without_distant(each)
            if each in contents.elsewhere:
                contents = contents.with_distant(DistantProject(id=each, name=NAMELESS))
            elif own := contents.projects.get(each):
                contents = contents.with_project(replace(own, name=NAMELESS))
        return contents

    def _is_in_use(self, project_id: str) -> bool:
        return any(each.merged_into == project_id for each in self.projects.values())


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
            each.id: {"name": each.name, "clues": asdict(each.clues)} for each in contents.elsewhere.values()
        }
        write_json(self.path, {"projects": own, "elsewhere": elsewhere}, mode=0o700)


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
    return DistantProject(id=key, name=entry["name"], clues=Clues(**entry["clues"]))


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


def _resemblance(project: Project, distant: DistantProject) -> tuple[str, ...]:
    """Return which projects a project looks like, now that one of another device is known."""
    others = _without(project.looks_like, distant.id)
    return (*others, distant.id) if _is_alike(project, distant) else others


def _is_alike(project: Project, distant: DistantProject) -> bool:
    return not project.inner and project.clues.agree(distant.clues)


def _without(ids: tuple[str, ...], project_id: str) -> tuple[str, ...]:
    return tuple(each for each in ids if each != project_id)
