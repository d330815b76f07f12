"""The claude CLI as a model: one process per request, without tools, hooks, servers or memory of its own.

It relies on facts measured with Claude Code 2.1.197:

- ``@/path`` in a prompt shows that file to the model, even with all tools off and reading denied. Prompts contain text
  of others, so every ``@`` is followed by an invisible joiner, which the answer loses again.
- A prompt that begins with ``/`` is a command, even if commands are disabled. Our prompts begin with a word.
- ``--safe-mode`` keeps the account and the choice of model, and drops hooks, CLAUDE.md, skills and plugins. A memory
  that asks a model must not start the hooks that feed the memory.
- API failures have the ``subtype`` ``success``; ``is_error`` and ``api_error_status`` report them.
"""

import tempfile
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from commonplace.core.errors import (
    ModelAccessError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelUnavailableError,
)
from commonplace.core.text import clean_text, trim_to
from commonplace.llm.answers import form_of
from commonplace.llm.backend import Reply, Request, Usage
from commonplace.llm.claude_process import (
    Printed,
    is_unavailable,
    is_without_access,
    outside_a_session,
    run_claude,
)
from commonplace.llm.options import ClaudeOptions

_OPTIONS: Final = (
    *("--output-format", "json"),
    *("--max-turns", "1"),
    *("--tools", ""),
    "--strict-mcp-config",
    "--safe-mode",
    "--disable-slash-commands",
    "--no-session-persistence",
)
_DEFAULT_SYSTEM: Final = "Do the user's task, and answer with its result only."
_MENTION: Final = "@\N{WORD JOINER}"
_CUT_OFF: Final = "output token maximum"
_MALFORMED: Final = "malformed response"
_SHOWN_CHARS: Final = 300


class _Tokens(BaseModel):
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0


class _Result(BaseModel):
    """The object that ``--output-format json`` prints."""

    model_config = ConfigDict(extra="ignore")

    result: str = ""
    subtype: str = ""
    is_error: bool
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: _Tokens = Field(default_factory=_Tokens)
    used_models: dict[str, object] = Field(default_factory=dict[str, object], alias="modelUsage")


async def connect(options: ClaudeOptions) -> "ClaudeBackend":
    """Return the backend; it needs no connection."""
    return ClaudeBackend(options)


class ClaudeBackend:
    """The claude CLI."""

    def __init__(self, options: ClaudeOptions) -> None:
        self._options = options
        self.address = str(options.executable)

    async def send(self, request: Request) -> Reply:
        """Run the CLI once in an empty directory; cancelling kills it and its descendants.

        Raises:
            ModelUnavailableError: The API is busy, failing or unreachable.
            ModelRefusedError: The CLI refuses the request, or ends without a result.
            ModelAccessError: The CLI is missing or not logged in, or its key, account or model is refused.
            ModelOutputError: The CLI printed no result.
        """
        with tempfile.TemporaryDirectory(prefix="commonplace-claude-") as name:
            printed = await self._run(request, Path(name))
        try:
            result = _Result.model_validate_json(printed.out)
        except ValidationError:
            raise _no_result(printed) from None
        return self._reply(result)

    async def aclose(self) -> None:
        """Do nothing, because no process outlives its request."""

    async def _run(self, request: Request, scratch: Path) -> Printed:
        empty, system = scratch / "empty", scratch / "system"
        empty.mkdir()
        system.write_text(_system(request), encoding="utf-8")
        try:
            return await run_claude(
                self._command(system),
                prompt=_prompt(request),
                scratch=scratch,
                directory=empty,
                environ=self._environment(request),
            )
        except OSError as error:
            raise ModelAccessError(f"cannot start {self._options.executable}: {error}") from None

    def _command(self, system: Path) -> list[str]:
        model = ["--model", self._options.model] if self._options.model else []
        return [str(self._options.executable), "-p", *_OPTIONS, "--system-prompt-file", str(system), *model]

    def _environment(self, request: Request) -> dict[str, str]:
        return outside_a_session(self._options.environ) | {
            # The caller retries, because it knows how much time is left.
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(request.max_output_tokens),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def _reply(self, result: _Result) -> Reply:
        cut_off = result.is_error and _CUT_OFF in result.result
        if result.is_error and not cut_off:
            raise _failure(result)
        tokens = result.usage
        return Reply(
            text=result.result.replace(_MENTION, "@"),
            model=next(iter(result.used_models), self._options.model or "claude-code"),
            usage=Usage(
                input_tokens=tokens.input_tokens
                + tokens.cache_creation_input_tokens
                + tokens.cache_read_input_tokens,
                output_tokens=tokens.output_tokens,
                cost_usd=result.total_cost_usd,
            ),
            cut_off=cut_off,
        )


def _system(request: Request) -> str:
    form = [form_of(request.output)] if request.output else []
    return clean_text("\n\n".join([request.system or _DEFAULT_SYSTEM, *form]))


def _prompt(request: Request) -> str:
    return clean_text(f"Task:\n\n{request.prompt}").replace("@", _MENTION)


def _failure(result: _Result) -> ModelError:
    status = result.api_error_status
    message = f"the claude CLI failed: {trim_to(result.result, _SHOWN_CHARS) or result.subtype}"
    if is_unavailable(status, result.result):
        return ModelUnavailableError(message)
    if is_without_access(status, result.result):
        return ModelAccessError(message)
    if status is None and _MALFORMED in result.result:
        return ModelOutputError(message)
    return ModelRefusedError(message)


def _no_result(printed: Printed) -> ModelError:
    shown = trim_to((printed.err or printed.out).strip(), _SHOWN_CHARS) or "nothing"
    if printed.status:
        return ModelRefusedError(f"the claude CLI ended with status {printed.status} and no result: {shown}")
    return ModelOutputError(f"the claude CLI printed no valid result: {shown}")
