"""The table of CLIs that can be models: the command line and environment of each, and how to read its output.

Each CLI runs without tools, hooks, MCP servers and transcripts: a memory that asks a model must not trigger the hooks
that feed the memory, and text by others in a prompt must not reach a tool. Measured with Claude Code 2.1.197, Codex
0.169 and Gemini CLI 0.61:

- claude: ``--safe-mode`` keeps the account and the choice of model, and drops hooks, CLAUDE.md, skills and plugins. API
  failures have the ``subtype`` ``success``; ``is_error`` and ``api_error_status`` report them.
- Codex: ``--ignore-user-config`` drops hooks and servers, and also the choice of model and provider, which
  :func:`_codex_choice` passes on. The user's AGENTS.md reaches the model.
- Gemini CLI: a separate home excludes transcripts, hooks and extensions. Links in it point to the account. The
  settings of the working directory override the user's.
"""

import contextlib
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from commonplace.llm.backend import Usage
from commonplace.llm.cli_process import Printed
from commonplace.llm.options import CliOptions

_CUT_OFF: Final = "output token maximum"
_HTTP_ERRORS: Final = range(400, 600)
UNPRICED: Final = Usage(cost_usd=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CliRun:
    """A run of a CLI.

    Attributes:
        scratch: A directory that exists during the run; ``system`` in it has the system prompt.
        directory: The working directory, still empty.
        max_output_tokens: The longest answer; Codex and Gemini CLI have no such limit.
    """

    options: CliOptions
    scratch: Path
    directory: Path
    max_output_tokens: int

    @property
    def system(self) -> str:
        """The file with the system prompt."""
        return str(self.scratch / "system")


@dataclass(frozen=True, slots=True, kw_only=True)
class CliOutcome:
    """The result that a CLI printed.

    Attributes:
        text: The answer, or the reason for a failure.
        status: The HTTP status of the API in a failure; ``None`` if it is unknown.
        model: The model's name; empty if the CLI does not say it.
    """

    text: str
    failed: bool = False
    status: int | None = None
    cut_off: bool = False
    model: str = ""
    usage: Usage = UNPRICED


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli:
    """A CLI.

    Attributes:
        title: Its name for people.
        command: Returns the command of a run.
        environment: Returns the variables that a run adds, and writes the files that they name.
        read: Returns the result; ``None`` if there is no valid result.
    """

    title: str
    command: Callable[[CliRun], list[str]]
    environment: Callable[[CliRun], Mapping[str, str]]
    read: Callable[[Printed], CliOutcome | None]


# claude


class _ClaudeTokens(BaseModel):
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0


class _ClaudeResult(BaseModel):
    """The object that ``--output-format json`` prints."""

    model_config = ConfigDict(extra="ignore")

    result: str = ""
    subtype: str = ""
    is_error: bool
    api_error_status: int | None = None
    total_cost_usd: float | None = None
    usage: _ClaudeTokens = Field(default_factory=_ClaudeTokens)
    used_models: dict[str, object] = Field(default_factory=dict[str, object], alias="modelUsage")


def _claude_command(run: CliRun) -> list[str]:
    return [
        *("-p", "--output-format", "json", "--max-turns", "1", "--tools", ""),
        *("--strict-mcp-config", "--safe-mode", "--disable-slash-commands", "--no-session-persistence"),
        *("--system-prompt-file", run.system),
        *(["--model", run.options.model] if run.options.model else []),
    ]


def _claude_environment(run: CliRun) -> dict[str, str]:
    return {
        # The caller retries, because it knows how much time is left.
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(run.max_output_tokens),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def _read_claude(printed: Printed) -> CliOutcome | None:
    try:
        result = _ClaudeResult.model_validate_json(printed.out)
    except ValidationError:
        return None
    cut_off = result.is_error and _CUT_OFF in result.result
    read = result.usage
    return CliOutcome(
        text=result.result or (result.subtype if result.is_error else ""),
        failed=result.is_error and not cut_off,
        status=result.api_error_status,
        cut_off=cut_off,
        model=next(iter(result.used_models), ""),
        usage=Usage(
            input_tokens=read.input_tokens + read.cache_creation_input_tokens + read.cache_read_input_tokens,
            output_tokens=read.output_tokens,
            cost_usd=result.total_cost_usd,
        ),
    )


# Codex

_CODEX_WITHOUT: Final = (
    *("shell_tool", "unified_exec", "view_image", "image_generation", "multi_agent", "goals", "sleep_tool"),
    *("hooks", "apps", "plugins"),
)
_CODEX_SETTINGS: Final[Mapping[str, object]] = {
    "web_search": "disabled",
    "project_doc_max_bytes": 0,
    "include_environment_context": False,
    "include_permissions_instructions": False,
    "skills.bundled.enabled": False,
}
_CODEX_CHOSEN: Final = ("model", "model_provider", "model_reasoning_effort", "openai_base_url")
_CODEX_PROVIDER: Final = (
    *("name", "base_url", "wire_api", "env_key", "requires_openai_auth"),
    *("request_max_retries", "stream_max_retries"),
)
"""Keys of a provider that are not secret; others must not be arguments, which every user of the machine can read."""
_STATUS: Final = re.compile(r"status:? (\d{3})")


class _CodexTokens(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0


class _CodexItem(BaseModel):
    type: str
    text: str = ""


class _CodexError(BaseModel):
    message: str = ""


class _CodexEvent(BaseModel):
    """A line that ``--json`` prints."""

    type: str
    item: _CodexItem | None = None
    error: _CodexError | None = None
    usage: _CodexTokens | None = None


def _codex_command(run: CliRun) -> list[str]:
    chosen = _codex_choice(run.options.environ)
    if run.options.model:
        chosen["model"] = run.options.model
    settings = {**_CODEX_SETTINGS, **chosen, "model_instructions_file": run.system}
    return [
        *("exec", "--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"),
        *("--sandbox", "read-only", "--cd", str(run.directory)),
        *(word for feature in _CODEX_WITHOUT for word in ("--disable", feature)),
        *(
            word
            for key, value in settings.items()
            for word in ("-c", f"{key}={json.dumps(value, ensure_ascii=False)}")
        ),
    ]


def _codex_choice(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the user's choice of model and provider from ``config.toml``; empty if there is none."""
    home = Path(environ.get("CODEX_HOME") or Path(environ.get("HOME", "/"), ".codex"))
    try:
        config = tomllib.loads((home / "config.toml").read_text(encoding="utf-8"))
        provider = config.get("model_providers", {}).get(config.get("model_provider"))
    except (OSError, ValueError, AttributeError):
        return {}
    chosen = {key: config[key] for key in _CODEX_CHOSEN if key in config}
    if not isinstance(provider, dict):
        return chosen
    # The caller retries, because it knows how much time is left.
    passed = cast("dict[str, object]", provider) | {"request_max_retries": 0, "stream_max_retries": 0}
    name = config["model_provider"]
    return chosen | {f"model_providers.{name}.{key}": passed[key] for key in _CODEX_PROVIDER if key in passed}


def _read_codex(printed: Printed) -> CliOutcome | None:
    events = list(_codex_events(printed.out))
    texts = [each.item.text for each in events if each.item and each.item.type == "agent_message"]
    usage = next((each.usage for each in events if each.usage), None)
    error = next((each.error for each in events if each.error), None)
    if error is not None:
        found = _STATUS.search(error.message)
        return CliOutcome(text=error.message, failed=True, status=int(found[1]) if found else None)
    if usage is None or not texts:
        return None
    tokens = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cost_usd=None)
    return CliOutcome(text=texts[-1], usage=tokens)


def _codex_events(out: str) -> Iterator[_CodexEvent]:
    for line in out.splitlines():
        with contextlib.suppress(ValidationError):
            yield _CodexEvent.model_validate_json(line)


# Gemini CLI

_GEMINI_SETTINGS: Final = {
    "hooksConfig": {"enabled": False},
    "tools": {"core": ["none"]},
    "skills": {"enabled": False},
    "general": {"maxAttempts": 1, "retryFetchErrors": False, "enableAutoUpdate": False},
}
_GEMINI_ACCOUNT: Final = (
    *("settings.json", ".env", "oauth_creds.json", "google_accounts.json", "gemini-credentials.json"),
    "installation_id",
)
_NO_LOGIN: Final = "Auth method"
_STATUS_IN_JSON: Final = re.compile(r'"code": ?([45]\d\d)\b')


class _GeminiTokens(BaseModel):
    prompt: int = 0
    total: int = 0


class _GeminiModel(BaseModel):
    tokens: _GeminiTokens = Field(default_factory=_GeminiTokens)


class _GeminiStats(BaseModel):
    models: dict[str, _GeminiModel] = Field(default_factory=dict[str, _GeminiModel])


class _GeminiError(BaseModel):
    message: str
    code: int | str | None = None


class _GeminiResult(BaseModel):
    """The object that ``-o json`` prints: a result on standard output, or an error on standard error."""

    response: str | None = None
    stats: _GeminiStats = Field(default_factory=_GeminiStats)
    error: _GeminiError | None = None


def _gemini_command(run: CliRun) -> list[str]:
    return [
        *("-o", "json", "--approval-mode", "plan", "--skip-trust"),
        *("--allowed-mcp-server-names", "none", "--extensions", "none"),
        *(["--model", run.options.model] if run.options.model else []),
    ]


def _gemini_environment(run: CliRun) -> dict[str, str]:
    environ = run.options.environ
    real = Path(environ.get("GEMINI_CLI_HOME") or environ.get("HOME", "/"), ".gemini")
    home = run.scratch / "home"
    (home / ".gemini").mkdir(parents=True)
    for name in _GEMINI_ACCOUNT:
        if (real / name).exists():
            (home / ".gemini" / name).symlink_to((real / name).absolute())
    settings = run.directory / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(_GEMINI_SETTINGS), encoding="utf-8")
    return {
        "GEMINI_CLI_HOME": str(home),
        "GEMINI_SYSTEM_MD": run.system,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        # The CLI writes failure reports there, and they contain the prompt.
        "TMPDIR": str(run.scratch),
    }


def _read_gemini(printed: Printed) -> CliOutcome | None:
    result = _gemini_result(printed.out) or _gemini_result(printed.err)
    if result is None:
        return None
    if result.error is not None:
        return _gemini_failure(result.error, printed.err)
    if result.response is None:
        return None
    used = [each.tokens for each in result.stats.models.values()]
    read = sum(each.prompt for each in used)
    written = sum(each.total for each in used) - read
    return CliOutcome(
        text=result.response,
        model=next(iter(result.stats.models), ""),
        usage=Usage(input_tokens=read, output_tokens=max(0, written), cost_usd=None),
    )


def _gemini_failure(error: _GeminiError, logged: str) -> CliOutcome:
    if _NO_LOGIN in error.message:
        # The message names a file in a directory that is deleted after the run.
        return CliOutcome(text="not logged in: run gemini once, or set GEMINI_API_KEY", failed=True)
    named = "ModelNotFound: " if "ModelNotFoundError" in logged else ""
    found = _STATUS_IN_JSON.search(error.message)
    code = int(found[1]) if found else error.code
    status = code if isinstance(code, int) and code in _HTTP_ERRORS else None
    return CliOutcome(text=named + error.message, failed=True, status=status)


def _gemini_result(text: str) -> _GeminiResult | None:
    """Return the last result in a text; logs precede it."""
    start = text.rfind('{\n  "session_id"')
    try:
        found, _ = json.JSONDecoder().raw_decode(text, max(start, 0))
        return _GeminiResult.model_validate(found)
    except ValueError:
        return None


CLIS: Final[Mapping[str, Cli]] = {
    "claude-code": Cli(
        title="claude CLI", command=_claude_command, environment=_claude_environment, read=_read_claude
    ),
    "codex": Cli(title="codex CLI", command=_codex_command, environment=lambda _: {}, read=_read_codex),
    "gemini-cli": Cli(
        title="gemini CLI", command=_gemini_command, environment=_gemini_environment, read=_read_gemini
    ),
}
"""The CLIs by their names in the settings."""
