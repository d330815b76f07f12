"""What Claude Code tells a hook."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from commonplace.core.errors import InvalidInputError
from commonplace.core.settings import LoadedSettings, Settings
from commonplace.workspace.name import butler_of


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """What the client says when it calls a hook, and where the memories are.

    Attributes:
        session_id: The session, a UUID.
        transcript: Its file, which a new session does not have yet.
        prompt: What the user wrote; empty for hooks of other events.
        butler: Whose session it is.
        settings: With the project as the workspace, unless they name another.
    """

    session_id: str
    transcript: Path
    prompt: str
    butler: str
    settings: Settings


def read_call(
    document: str, loaded: LoadedSettings, environ: Mapping[str, str], *, butler: str | None = None
) -> HookCall:
    """Read what the client wrote on standard input.

    Args:
        document: One JSON object.
        loaded: The settings; where nothing names a workspace, it is the client's project.
        environ: Where the client names the project's directory.
        butler: Whose session it is, where that is not the workspace's name.

    Raises:
        InvalidInputError: It is not JSON, or lacks something.
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
        session_id=_required(values, "session_id"),
        transcript=Path(_required(values, "transcript_path")),
        prompt=str(values.get("prompt") or ""),
        butler=butler or butler_of(settings.workspace),
        settings=settings,
    )


def _required(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidInputError(name, "text", value)
    return value
