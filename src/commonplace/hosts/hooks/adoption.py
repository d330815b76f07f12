"""Assignment of sessions from earlier releases, whose butler is a directory name, to their projects."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from commonplace.core.decoding import LENIENT
from commonplace.hosts.hooks.sessions import SessionRecord, SessionRecords
from commonplace.projects import DistantProject, Project, Projects

_LINES: Final = 50
"""The directory stands in one of the first lines of a transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """Memories of a butler that belong to a project.

    Attributes:
        butler: The name of the directory, by which the memories were stored.
        project: The project.
        sessions: The ids of the sessions to move; ``None`` if the whole butler belongs to the project.
    """

    butler: str
    project: Project | DistantProject
    sessions: tuple[str, ...] | None


def plan_adoption(records: SessionRecords, projects: Projects) -> list[Adoption]:
    """Return the butlers of earlier releases with their projects, in the order of their names.

    The transcripts tell the directories. A butler whose sessions come from one project belongs to it as a whole.
    """
    known = {each.id for each in projects.list_projects()}
    found: dict[str, dict[str, tuple[Project | DistantProject, list[str]]]] = {}
    for record in records.list_records():
        directory = None if record.butler in known else _directory(record)
        if directory is not None:
            project = projects.standing_for(projects.at(directory))
            _, sessions = found.setdefault(record.butler, {}).setdefault(project.id, (project, []))
            sessions.append(record.session_id)
    return [
        Adoption(
            butler=butler, project=project, sessions=None if len(several) == 1 else tuple(sorted(sessions))
        )
        for butler, several in sorted(found.items())
        if butler not in several
        for project, sessions in several.values()
    ]


def _directory(record: SessionRecord) -> Path | None:
    """Return the directory of a session, if its transcript names one that still exists."""
    try:
        with record.transcript.open(encoding="utf-8", errors=LENIENT) as lines:
            named = next(_directories(islice(lines, _LINES)), None)
    except OSError:
        return None
    return Path(named) if named is not None and Path(named).is_dir() else None


def _directories(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        try:
            read: object = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict) and isinstance(directory := cast("dict[str, Any]", read).get("cwd"), str):
            yield directory
