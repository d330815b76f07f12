"""A CLI of an agent host as a model: one process per request, in an empty directory.

``@/path`` in a prompt shows that file to claude's model, even with all tools off and reading denied. Prompts contain
text by others, so an invisible joiner is inserted after every ``@`` and removed from the answer. A prompt that begins
with ``/`` is a command, even if commands are disabled. Our prompts begin with a word.
"""

import tempfile
from pathlib import Path
from typing import Final

from commonplace.core.errors import (
    ModelAccessError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelUnavailableError,
)
from commonplace.core.text import clean_text, trim_to
from commonplace.llm.answers import form_of
from commonplace.llm.backend import Reply, Request
from commonplace.llm.cli_process import (
    Printed,
    is_unavailable,
    is_without_access,
    outside_a_session,
    run_cli,
)
from commonplace.llm.clis import CLIS, CliOutcome, CliRun
from commonplace.llm.options import CliOptions

_DEFAULT_SYSTEM: Final = "Do the user's task, and answer with its result only."
_MENTION: Final = "@\N{WORD JOINER}"
_MALFORMED: Final = ("malformed response", "Incomplete JSON")
_SHOWN_CHARS: Final = 300


async def connect(options: CliOptions) -> "CliBackend":
    """Return the backend; it needs no connection."""
    return CliBackend(options)


class CliBackend:
    """A CLI of the table as a backend."""

    def __init__(self, options: CliOptions) -> None:
        self._options = options
        self._cli = CLIS[options.name]
        self.address = str(options.executable)

    async def send(self, request: Request) -> Reply:
        """Run the CLI once; cancelling kills it and its descendants.

        Raises:
            ModelUnavailableError: The API is busy, failing or unreachable, or the account is over its limit.
            ModelRefusedError: The CLI refuses the request, or ends without a result.
            ModelAccessError: The CLI is missing or not logged in, or its key, account or model is refused.
            ModelOutputError: The CLI printed no result.
        """
        prefix = f"commonplace-{self._options.executable.name}-"
        # A CLI may still write a log while it is killed.
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
            printed = await self._run(request, Path(name))
        outcome = self._cli.read(printed)
        if outcome is None:
            raise self._no_result(printed)
        if outcome.failed:
            raise self._failure(outcome)
        return Reply(
            text=outcome.text.replace(_MENTION, "@"),
            model=outcome.model or self._options.model or self._options.name,
            usage=outcome.usage,
            cut_off=outcome.cut_off,
        )

    async def aclose(self) -> None:
        """Do nothing, because no process outlives its request."""

    async def _run(self, request: Request, scratch: Path) -> Printed:
        empty = scratch / "empty"
        empty.mkdir()
        (scratch / "system").write_text(_system(request), encoding="utf-8")
        run = CliRun(
            options=self._options,
            scratch=scratch,
            directory=empty,
            max_output_tokens=request.max_output_tokens,
        )
        try:
            return await run_cli(
                [str(self._options.executable), *self._cli.command(run)],
                prompt=_prompt(request),
                scratch=scratch,
                directory=empty,
                environ={**outside_a_session(self._options.environ), **self._cli.environment(run)},
            )
        except OSError as error:
            raise ModelAccessError(f"cannot start {self._options.executable}: {error}") from None

    def _failure(self, outcome: CliOutcome) -> ModelError:
        status = outcome.status
        message = f"the {self._cli.title} failed: {trim_to(outcome.text, _SHOWN_CHARS)}"
        if is_unavailable(status, outcome.text):
            return ModelUnavailableError(message)
        if is_without_access(status, outcome.text):
            return ModelAccessError(message)
        if status is None and any(sign in outcome.text for sign in _MALFORMED):
            return ModelOutputError(message)
        return ModelRefusedError(message)

    def _no_result(self, printed: Printed) -> ModelError:
        title = self._cli.title
        shown = trim_to((printed.err or printed.out).strip(), _SHOWN_CHARS) or "nothing"
        if printed.status:
            return ModelRefusedError(f"the {title} ended with status {printed.status} and no result: {shown}")
        return ModelOutputError(f"the {title} printed no valid result: {shown}")


def _system(request: Request) -> str:
    form = [form_of(request.output)] if request.output else []
    return clean_text("\n\n".join([request.system or _DEFAULT_SYSTEM, *form]))


def _prompt(request: Request) -> str:
    return clean_text(f"Task:\n\n{request.prompt}").replace("@", _MENTION)
