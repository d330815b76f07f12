"""Input of a hook from a host."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from uuid import NAMESPACE_URL, UUID, uuid5

from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import LoadedSettings, Settings
from commonplace.hosts.hooks.formats import without_shell_quotes
from commonplace.knowledge import GLOBAL_SCOPE
from commonplace.projects import Projects, with_workspace
from commonplace.services.team_client import TeamClient

PROJECT_VARIABLES: Final = {"claude-code": "CLAUDE_PROJECT_DIR", "gemini": "GEMINI_PROJECT_DIR"}
"""Variables that name the workspace, one per host, because hosts may run inside each other."""

NO_TRANSCRIPT: Final = Path("/dev/null")
_OF_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_CONTEXT: Final = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
"""The output of earlier hooks, which Gemini CLI inserts before the first prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """The input of a hook, and the settings of the memories.

    Attributes:
        session_id: The session, a UUID.
        transcript: The file of the session, which may not exist yet; an empty path if the session has none.
        prompt: The user's prompt; empty for other events.
        source: Why the session starts, such as ``startup`` or ``compact``; empty for other events.
        named_butler: The butler that the installation names; ``None`` for the project of the workspace.
        settings: The settings; unless they name a workspace, the project is the workspace.
        event: The host's name for the event.
        service: The service with knowledge memory; ``None`` for the home's own memory.
    """

    session_id: str
    transcript: Path
    prompt: str
    named_butler: str | None
    settings: Settings
    source: str = ""
    host: str = "claude-code"
    event: str = ""
    service: TeamClient | None = None

    @property
    def butler(self) -> str:
        """The butler of the session: the project of the workspace, or ``global`` if its directory is gone.

        Raises:
            SettingsError: The identity of the project cannot be read.
            StorageUnavailableError: The identity of a new project cannot be written.
        """
        if self.named_butler is None and not self.has_workspace:
            return GLOBAL_SCOPE
        return self.named_butler or Projects(self.settings.home).butler_at(self.settings.workspace)

    @property
    def has_workspace(self) -> bool:
        """Whether the directory of the session is there: it may have been deleted while the session ran."""
        return self.settings.workspace.is_dir()

    @property
    def is_off(self) -> bool:
        """Whether the project of the session is switched off.

        Raises:
            SettingsError: The identity of the project cannot be read.
        """
        project = Projects(self.settings.home).find(self.settings.workspace)
        return project is not None and project.is_off

    @property
    def has_knowledge(self) -> bool:
        """Whether knowledge memory has a database; in a new home, hooks must not wait for its setup."""
        return self.settings.postgres_url is not None or (self.settings.postgres_directory / "data").exists()


def read_call(
    document: str,
    loaded: LoadedSettings,
    environ: Mapping[str, str],
    *,
    butler: str | None = None,
    host: str = "claude-code",
    directory: Path | None = None,
    service: TeamClient | None = None,
) -> HookCall:
    """Read the host's input, one JSON object whose field names may be specific to the host.

    If the settings name no workspace, the workspace is the project named by the environment or the document. Relative
    paths in the document are relative to ``directory``, by default the current directory. See :class:`HookCall` for
    ``butler``, ``host`` and ``service``.

    Raises:
        InvalidInputError: The document is not a JSON object, a field is missing, or a path is of another system.
    """
    try:
        read: object = json.loads(document)
    except (ValueError, RecursionError):
        raise InvalidInputError("standard input", "a JSON object from the host", document) from None
    if not isinstance(read, dict):
        raise InvalidInputError("standard input", "a JSON object from the host", read)
    values = cast("dict[str, Any]", read)
    settings = loaded.settings
    if loaded.origins["workspace"] == "default":
        variable = PROJECT_VARIABLES.get(host)
        project = Path((environ.get(variable) if variable else None) or _directory(values))
        settings = with_workspace(loaded, _absolute(project, directory)).settings
    return HookCall(
        session_id=_session_id(values, host),
        transcript=_transcript(values, host, directory),
        prompt=_prompt(values, host),
        source=str(values.get("source") or ""),
        named_butler=butler,
        settings=settings,
        host=host,
        event=str(values.get("hook_event_name") or values.get("hookEventName") or ""),
        service=service,
    )


def _prompt(values: Mapping[str, Any], host: str) -> str:
    prompt = _CONTEXT.sub("", str(values.get("prompt") or "")).strip()
    return without_shell_quotes(prompt) if host == "opencode" else prompt


def _session_id(values: Mapping[str, Any], host: str) -> str:
    named = _required(values, "session_id", "sessionId", "conversation_id")
    try:
        return str(UUID(named))
    except ValueError:
        if host == "claude-code":
            raise InvalidInputError("session_id", "a UUID", named) from None
        return str(uuid5(NAMESPACE_URL, f"{host}:{named}"))


def _absolute(path: Path, directory: Path | None) -> Path:
    """Return a path from a directory.

    Raises:
        InvalidInputError: It is a path of Windows, which here would be the name of a file.
    """
    if _OF_WINDOWS.match(str(path)) and os.name != "nt":
        raise InvalidInputError("path", "a path of this system, not of Windows", str(path))
    return path if path.is_absolute() else (directory or Path.cwd()) / path


def _transcript(values: Mapping[str, Any], host: str, directory: Path | None) -> Path:
    if host != "claude-code" and not values.get("transcript_path"):
        return NO_TRANSCRIPT
    return _absolute(Path(_required(values, "transcript_path")), directory)


def _directory(values: Mapping[str, Any]) -> str:
    roots = values.get("workspace_roots")
    if not values.get("cwd") and isinstance(roots, list) and roots:
        return str(cast("list[object]", roots)[0])
    return _required(values, "cwd")


def _required(values: Mapping[str, Any], *names: str) -> str:
    value = next((values[name] for name in names if values.get(name)), None)
    if not isinstance(value, str):
        raise InvalidInputError(names[0], "text", value)
    return value
