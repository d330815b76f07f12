"""The projects that a home has seen: ``projects.json`` in the home.

The identity of a project is stored with the project. The home stores its readable name, the path where it was last
seen, the project that it was merged into, and the clues by which a person recognises a clone. The home also stores the
identities of projects whose own files cannot be written.
Source: PRJ-01.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.clock import Clock, parse_timestamp, utc_now
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, SettingsError
from commonplace.core.settings import LoadedSettings
from commonplace.core.text import clean_text
from commonplace.projects.git_fingerprint import Clues
from commonplace.projects.identity import (
    MAX_NAME_CHARS,
    Identity,
    IdentityLocation,
    is_writable,
    locked,
    write_json,
)

FILE: Final = "projects.json"
NOTES: Final = ".aegis"
"""The directory of a workspace that holds its workspace memory."""

SEEN_EVERY_S: Final = 86_400
"""The last visit is stored to the day, so that most visits write nothing."""


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


class Projects:
    """The projects of one home."""

    def __init__(self, home: Path, *, clock: Clock = utc_now) -> None:
        self._home = home
        self._file = home / FILE
        self._clock = clock

    def at(self, directory: Path) -> Project:
        """Return the project of a directory; if there is none, create a project for the whole repository.

        A project that was moved keeps its identity. A copy of a project gets an identity of its own.

        Raises:
            InvalidInputError: The directory does not exist.
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A new identity cannot be written.
        """
        own = IdentityLocation.of(directory)
        place, identities = self._held(own)
        key = place.nearest(identities)
        if key is not None:
            known = self._read().get(identities[key].id)
            if known is not None and self._is_current(known, place, key):
                return known
        return self._settle(own, key="")

    def find(self, directory: Path) -> Project | None:
        """Return the project that this home has seen in a directory; ``None`` if there is none.

        Raises:
            SettingsError: A file with identities cannot be read.
        """
        place, identities = self._held(IdentityLocation.of(directory))
        key = place.nearest(identities)
        known = None if key is None else self._read().get(identities[key].id)
        return known if known is not None and known.file == place.file else None

    def workspace_of(self, directory: Path) -> Path:
        """Return the workspace of a directory: the nearest directory of its project that has workspace memory.

        If none has any, it is the directory of the project. Outside of a Git repository, and in a repository that is no
        project and has no workspace memory, it is the directory itself.
        """
        own = IdentityLocation.of(directory)
        try:
            place, identities = self._held(own)
        except SettingsError:  # The project's own commands report it; the notes do not depend on it.
            return directory
        key = place.nearest(identities)
        project, start = own.top / (key or ""), own.top / own.inner
        inside = [each for each in (start, *start.parents) if each.is_relative_to(project)]
        noted = next((each for each in inside if (each / NOTES).is_dir()), None)
        return noted or (directory if key is None else project)

    def create(self, directory: Path) -> Project:
        """Return the project of exactly this directory; give the directory its own identity if it has none.

        Raises:
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A new identity cannot be written.
        """
        place = IdentityLocation.of(directory)
        return self._settle(place, key=place.inner, exact=True)

    def prepare(self, directory: Path) -> None:
        """Give a directory of a Git repository an identity of its own.

        Outside of Git, the first session does this, because uninstalling must find every file that an installation
        creates.

        Raises:
            SettingsError: A file with identities cannot be read.
            StorageUnavailableError: A new identity cannot be written.
        """
        if IdentityLocation.of(directory).git is not None:
            self.create(directory)

    def butler_at(self, directory: Path) -> str:
        """Return the butler of sessions in a directory: the id of its project, or of the project it was merged into."""
        return self.standing_for(self.at(directory)).id

    def butler_for(self, directory: Path) -> str | None:
        """Return the butler as :meth:`butler_at` does; ``None`` for a directory that is not a project yet."""
        found = self.find(directory)
        return None if found is None else self.standing_for(found).id

    def standing_for(self, project: Project) -> Project:
        """Return the project whose memory a project uses: the project itself, unless it was merged into another one."""
        known, seen = self._read(), {project.id}
        while project.merged_into in known and project.merged_into not in seen:
            project = known[project.merged_into]
            seen.add(project.id)
        return project

    def list_projects(self) -> list[Project]:
        """Return the projects, the most recently seen one first."""
        return sorted(self._read().values(), key=lambda each: (each.seen_at, each.id), reverse=True)

    def get(self, name: str) -> Project:
        """Return the project with an id, or with a name that only one project has.

        Raises:
            NotFoundError: No project has this id or name.
            InvalidInputError: Several projects have this name; the message lists them.
        """
        known = self._read()
        if name in known:
            return known[name]
        named = [each for each in known.values() if each.name == name]
        if len(named) > 1:
            several = "; ".join(f"{each.id} at {each.path}" for each in named)
            raise InvalidInputError(
                "project", f"an id, because several projects have this name ({several})", name
            )
        if not named:
            raise NotFoundError("project", name)
        return named[0]

    def rename(self, name: str, new_name: str) -> Project:
        """Change the readable name of a project; its id and its memory stay the same.

        Raises:
            InvalidInputError: The new name is empty or too long.
            NotFoundError: No project has this id or name.
        """
        cleaned = clean_text(new_name).strip()
        if not 0 < len(cleaned) <= MAX_NAME_CHARS:
            raise InvalidInputError("name", f"1 to {MAX_NAME_CHARS} characters", new_name)
        return self._change(self.get(name).id, name=cleaned)

    def switch(self, directory: Path, *, is_off: bool) -> Project:
        """Switch the hooks of hosts off or on in the project of a directory, and return the project.

        For errors see :meth:`at`.
        """
        return self._change(self.at(directory).id, is_off=is_off)

    def set_merged(self, project_id: str, into: str | None) -> Project:
        """Make a project use the memory of another project, or its own memory again.

        Raises:
            ConflictError: The other project uses the memory of this project.
            NotFoundError: One of the projects is unknown.
        """
        if into is not None and self.standing_for(self.get(into)).id == project_id:
            message = (
                f"The project {into} uses the memory of {project_id}. Separate them before you merge them."
            )
            raise ConflictError("into", message, into)
        return self._change(project_id, merged_into=into)

    def _change(self, project_id: str, **changes: Any) -> Project:  # noqa: ANN401 - fields of Project
        with locked(self._file, mode=0o700):
            known = self._read()
            if project_id not in known:
                raise NotFoundError("project", project_id)
            known[project_id] = replace(known[project_id], **changes)
            self._write(known)
            return known[project_id]

    def _is_current(self, known: Project, place: IdentityLocation, key: str) -> bool:
        age_s = (self._clock() - known.seen_at).total_seconds()
        return known.file == place.file and known.path == place.top / key and abs(age_s) < SEEN_EVERY_S

    def keeps_identity_of(self, project: Project) -> bool:
        """Return whether the home stores a project's identity because the project's own file could not be written."""
        return project.file.is_relative_to(self._home)

    def _held(self, own: IdentityLocation) -> tuple[IdentityLocation, dict[str, Identity]]:
        """Return the identities of a place, and where they are stored: in the place itself or in the home."""
        stand_in = own.kept_in(self._home)
        if kept := stand_in.read():
            return stand_in, kept
        return own, own.read()

    def _settle(self, own: IdentityLocation, *, key: str, exact: bool = False) -> Project:
        """Create a missing identity, distinguish a copy from a move, and record the visit."""
        if not (own.top / own.inner).is_dir():
            raise InvalidInputError("directory", "an existing directory", str(own.top / own.inner))
        with locked(self._file, mode=0o700), ExitStack() as stack:
            if writable := is_writable(own.file, mode=0o755):
                stack.enter_context(locked(own.file, mode=0o755))
            place, kept = self._held(own)
            known = self._read()
            copied_from = self._copied_from(own, kept, known)
            identities = (
                kept if not copied_from else {at: Identity.new(each.name) for at, each in kept.items()}
            )
            nearest = place.nearest(identities)
            if nearest is None or (exact and nearest != key):
                nearest = key
                identities = identities | {key: Identity.new((place.top / key).name)}
            stand_in = own.kept_in(self._home)
            is_own = writable and (place == own or own.read() in ({}, kept))
            if identities != kept or (is_own and place == stand_in):
                place = own if is_own else stand_in
                place.write(identities)
            if is_own:
                stand_in.file.unlink(missing_ok=True)
            project = self._visited(place, nearest, identities[nearest], known, copied_from)
            self._write(known | {project.id: project})
            return project

    def _visited(
        self,
        place: IdentityLocation,
        key: str,
        identity: Identity,
        known: Mapping[str, Project],
        copied_from: tuple[str, ...],
    ) -> Project:
        path, now = place.top / key, self._clock()
        if before := known.get(identity.id):
            return replace(before, path=path, file=place.file, seen_at=now)
        clues = Clues.of(place.git) if place.git else Clues()
        alike = [each.id for each in known.values() if each.file != place.file and each.clues.agree(clues)]
        return Project(
            id=identity.id,
            name=identity.name,
            path=path,
            file=place.file,
            seen_at=now,
            clues=clues,
            looks_like=(*copied_from, *(each for each in alike if each not in copied_from)),
        )

    def _copied_from(
        self, own: IdentityLocation, identities: Mapping[str, Identity], known: Mapping[str, Project]
    ) -> tuple[str, ...]:
        """Return the ids of a place if it is a copy: another place that still exists has the same ids."""
        stand_in = own.kept_in(self._home).file
        ids = tuple(each.id for each in identities.values())
        for each in ids:
            other = known.get(each)
            if other is None or other.file == stand_in or _is_same_file(other.file, own.file):
                continue
            elsewhere = IdentityLocation(file=other.file, top=other.path, inner="")
            try:
                if each in {identity.id for identity in elsewhere.read().values()}:
                    return ids
            except SettingsError:
                continue
        return ()

    def _read(self) -> dict[str, Project]:
        try:
            document = json.loads(self._file.read_text(encoding="utf-8"))
            entries = cast("Mapping[str, Mapping[str, Any]]", document["projects"])
            return {key: _project(key, entry) for key, entry in entries.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise SettingsError(f"{self._file}: expected the projects of this home, got {error!r}") from None

    def _write(self, projects: Mapping[str, Project]) -> None:
        entries = {each.id: _entry(each) for each in projects.values()}
        write_json(self._file, {"projects": entries}, mode=0o700)


def _project(key: str, entry: Mapping[str, Any]) -> Project:
    return Project(
        id=key,
        name=entry["name"],
        path=Path(entry["path"]),
        file=Path(entry["file"]),
        seen_at=parse_timestamp(entry["seen_at"]),
        clues=Clues(**entry["clues"]),
        merged_into=entry["merged_into"],
        looks_like=tuple(entry["looks_like"]),
        is_off=bool(entry.get("is_off")),
    )


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
    }


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def with_workspace(loaded: LoadedSettings, directory: Path | None = None) -> LoadedSettings:
    """Return the settings, with the workspace of a directory, by default the current one, if they name no workspace."""
    settings = loaded.settings
    if loaded.origins["workspace"] != "default":
        return loaded
    workspace = Projects(settings.home).workspace_of(directory or settings.workspace)
    return replace(loaded, settings=settings.model_copy(update={"workspace": workspace}))
