"""The claude CLI as the runtime of a host: one process for each session, with the host's tools."""

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError

from commonplace.butlers.sessions import SessionOutcome, SessionRequest
from commonplace.core.text import clean_text, trim_to
from commonplace.llm.cli_process import (
    Printed,
    is_unavailable,
    is_without_access,
    outside_a_session,
    run_cli,
)

DEFAULT_TIMEOUT_S: Final = 1800.0
_SHOWN_CHARS: Final = 300
_WITHOUT_TOOLS: Final = ("--tools", "", "--strict-mcp-config", "--safe-mode", "--disable-slash-commands")


class _Result(BaseModel):
    """The object that ``--output-format json`` prints."""

    model_config = ConfigDict(extra="ignore")

    result: str = ""
    subtype: str = ""
    is_error: bool
    api_error_status: int | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ClaudeRuntime:
    """A runtime that runs sessions with the claude CLI.

    Attributes:
        executable: The ``claude`` program.
        directory: The working directory of sessions, which is their workspace.
        environ: The environment of sessions; ``None`` for the environment of this process.
        arguments: Further arguments of the CLI, such as ``["--model", "haiku"]``.
        timeout_s: Seconds after which a session and its child processes are killed.
    """

    executable: Path
    directory: Path
    environ: Mapping[str, str] | None = None
    arguments: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S

    async def run(self, request: SessionRequest) -> SessionOutcome:
        """Run a session and return its outcome, which includes failures; cancelling kills the session."""
        with tempfile.TemporaryDirectory(prefix="commonplace-session-") as name:
            scratch = Path(name)
            try:
                async with asyncio.timeout(self.timeout_s):
                    printed = await run_cli(
                        self._command(request, scratch),
                        prompt=request.prompt,
                        scratch=scratch,
                        directory=self.directory,
                        environ=outside_a_session(os.environ if self.environ is None else self.environ),
                    )
            except TimeoutError:
                return _outage(f"it took longer than {self.timeout_s:g} s")
            except OSError as error:
                return _outage(f"{self.executable} cannot be started: {error}")
        return _outcome(printed)

    def _command(self, request: SessionRequest, scratch: Path) -> list[str]:
        command = [str(self.executable), "-p", "--output-format", "json", *self.arguments]
        if request.context:
            command += ["--append-system-prompt-file", str(_written(scratch / "context", request.context))]
        if request.endpoint is None:
            return [*command, *_WITHOUT_TOOLS]
        server = {
            "type": "http",
            "url": request.endpoint.url,
            "headers": {"Authorization": f"Bearer {request.endpoint.token}"},
        }
        # In a file, because every user of the machine can read the arguments of a process.
        config = json.dumps({"mcpServers": {request.tools_name: server}})
        servers = str(_written(scratch / "servers.json", config))
        return [*command, "--mcp-config", servers, "--allowedTools", f"mcp__{request.tools_name}"]


def _written(path: Path, text: str) -> Path:
    path.write_text(clean_text(text), encoding="utf-8")
    return path


def _outage(failure: str) -> SessionOutcome:
    return SessionOutcome(answer="", failure=failure, is_outage=True)


def _outcome(printed: Printed) -> SessionOutcome:
    try:
        result = _Result.model_validate_json(printed.out)
    except ValidationError:
        shown = trim_to((printed.err or printed.out).strip(), _SHOWN_CHARS) or "nothing"
        failure = f"it ended with status {printed.status} and printed no result: {shown}"
        return SessionOutcome(answer="", failure=failure)
    if result.is_error:
        error = (result.api_error_status, result.result)
        reason = trim_to(result.result, _SHOWN_CHARS) or result.subtype
        return SessionOutcome(
            answer="",
            session_id=result.session_id,
            failure=reason,
            is_outage=is_unavailable(*error) or is_without_access(*error),
        )
    return SessionOutcome(answer=result.result, session_id=result.session_id)
