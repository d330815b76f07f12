"""Input of a hook from Claude Code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import LoadedSettings, Settings
from commonplace.projects import Projects


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """The input of a hook, and the settings of the memories.

    Attributes:
        session_id: The session, a UUID.
        transcript: The file of the session, which a new session does not have yet.
        prompt: The user's prompt; empty for other events.
        source: Why the session starts, such as ``startup`` or ``compact``; empty for other events.
        named_butler: The butler that the installation names; ``None`` for the project of the workspace.
        settings: The settings; the project is the workspace unless they name another.
    """

    session_id: str
    transcript: Path
    prompt: str
    named_butler: str | None
    settings: Settings
    source: str = ""

    @property
    def butler(self) -> str:
        """The butler of the session.

        Raises:
            InvalidInputError: The workspace is not a directory.
            SettingsError: The identity of the project cannot be read.
            StorageUnavailableError: The identity of a new project cannot be written.
        """
        return self.named_butler or Projects(self.settings.home).butler_at(self.settings.workspace)

    @property
    def has_knowledge(self) -> bool:
        """Whether knowledge memory has a database; a new home has nothing to tell, and no hook waits for its set-up."""
        return self.settings.postgres_url is not None or (self.settings.postgres_directory / "data").exists()


def read_call(
    document: str, loaded: LoadedSettings, environ: Mapping[str, str], *, butler: str | None = None
) -> HookCall:
    """Read the client's input.

    Args:
        document: One JSON object.
        loaded: The settings; if they name no workspace, the client's project is the workspace.
        environ: The environment, which names the directory of the project.
        butler: The butler of the session; ``None`` for the id of the project.

    Raises:
        InvalidInputError: The document is not a JSON object, or a field is missing.
    """
    try:
        read: object = json.loads(document)
    except (ValueError, RecursionError):
        raise InvalidInputError("standard input", "a JSON object from Claude Code", document) from None
    if not isinstance(read, dict):
        raise InvalidInputError("standard input", "a JSON object from Claude Code", read)
    values = cast("dict[str, Any]", read)
    settings = loaded.settings
    if loaded.origins["workspace"] == "default":
        project = Path(environ.get("CLAUDE_PROJECT_DIR") or _required(values, "cwd"))
        settings = settings.model_copy(update={"workspace": project.absolute()})
    return HookCall(
        session_id=_session_id(values),
        transcript=Path(_required(values, "transcript_path")),
        prompt=str(values.get("prompt") or ""),
        source=str(values.get("source") or ""),
        named_butler=butler,
        settings=settings,
    )


def _session_id(values: Mapping[str, Any]) -> str:
    named = _required(values, "session_id")
    try:
        return str(UUID(named))
    except ValueError:
        raise InvalidInputError("session_id", "a UUID", named) from None


def _required(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(name, "text", value)
    return value
