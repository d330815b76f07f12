"""Settings: the places of data, models, and limits.

Each setting comes from the environment, else from ``commonplace.toml``, else from its default. If
``COMMONPLACE_CONFIG`` names a file, it is the only one. Otherwise the file in the current directory takes precedence
over the file in ``COMMONPLACE_HOME``, key by key. A cloned repository must not decide where memories go: the file in
the current directory must be trusted (:mod:`commonplace.core.trust`) unless it sets only workspace settings, and a
process that a client starts inside a workspace (an MCP server, a hook) ignores it.

An unknown key in the file, or an unknown ``COMMONPLACE_…`` variable, is an error that names it.
"""

import difflib
import os
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

from platformdirs import user_data_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from commonplace.core.errors import SettingsError
from commonplace.core.faults import expected_by
from commonplace.core.quoting import quoted
from commonplace.core.trust import WORKSPACE_KEYS, is_trusted
from commonplace.core.urls import mask_url
from commonplace.core.zones import find_zone

_BESIDE_POSTGRES_URL: Final = {
    "postgres_owner_url": "expected postgres_url as well, with the role of the application",
    "postgres_read_url": "expected postgres_url as well, whose replicas this setting names",
}
"""Settings that need ``postgres_url`` beside them, and the message without it."""

CONFIG_FILE: Final = "commonplace.toml"
PREFIX: Final = "COMMONPLACE_"
CONFIG_VARIABLE: Final = "COMMONPLACE_CONFIG"
POSTGRES_SCHEMES: Final = ("postgresql://", "postgres://")
CRON_OFF: Final = "off"
RERANKER_LEARNED: Final = "learned"
RERANKER_OFF: Final = "off"
DEFAULT_MIN_RELEVANCE: Final = 0.58
"""Minimum similarity of the best memory of a recall; below it, no memory is shown. Source: ADR 0010."""

_OWN_VARIABLE: Final = {"memory_budget": "CLAUDEOPS_MEMORY_BUDGET"}
"""Settings whose variable a specification names (OPS-07.2)."""

_EXAMPLES: Final = {
    "otel_endpoint": "http://127.0.0.1:4318/v1/traces",
    "model_base_url": "http://127.0.0.1:8000/v1",
}


class Settings(BaseModel):
    """Every setting of commonplace, validated and frozen.

    Use :func:`load_settings` to build one. Direct construction reads no environment and no file; it is for tests and
    for programs that keep their settings elsewhere.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    home: Path = Field(
        default_factory=lambda: user_data_path("commonplace"),
        description="directory of all data that no other setting places elsewhere",
    )
    database: str = Field(
        default="",
        description="operational and app memory: a path is SQLite, a postgresql:// URL is PostgreSQL",
    )
    postgres_url: str | None = Field(
        default=None, description="knowledge memory; unset: the embedded server in home"
    )
    postgres_owner_url: str | None = Field(
        default=None, description="the same database with the role that owns and upgrades the tables"
    )
    postgres_read_url: str | None = Field(
        default=None,
        description="replicas of postgres_url for reads, one or several hosts; unset: postgres_url",
    )
    workspace: Path = Field(
        default_factory=Path.cwd, description="directory of workspace memory and agent.json"
    )
    embedding_model: str = Field(
        default="sentence-transformers/all-MiniLM-L6-v2",
        min_length=1,
        description="name or local directory of the embedding model",
    )
    embedding_backend: Literal["onnx", "torch"] = Field(
        default="onnx", description="library that computes embeddings; torch needs the extra torch"
    )
    embedding_queries: Literal["float32", "int8"] = Field(
        default="int8",
        description="weights that compute the vectors of queries; int8 is faster, float32 is exact",
    )
    embedding_download: bool = Field(
        default=False, description="download an embedding model or a reranker that is not on this machine"
    )
    model: str | None = Field(
        default=None,
        description="anthropic:…, gemini:…, openai:…, ollama:…, claude-code, codex, gemini-cli or extractive; "
        "unset: extractive",
    )
    model_base_url: str | None = Field(
        default=None, description="address of the model's server; unset: the provider's own"
    )
    model_api_key_file: Path | None = Field(
        default=None, description="file with the key of the model; unset: the provider's variable"
    )
    model_timeout_s: Annotated[float, Field(gt=0)] = Field(
        default=60.0, description="seconds for an answer of a model, retries included"
    )
    model_daily_tokens: Annotated[int, Field(ge=0)] = Field(
        default=0, description="tokens that models may use a day (UTC); 0: no limit"
    )
    consolidation_model: str | None = Field(
        default=None,
        description="model of consolidation, named like model; claude-code, codex and gemini-cli use the account of "
        "that program; unset: model",
    )
    consolidation_daily_tokens: Annotated[int, Field(ge=0)] = Field(
        default=200_000, description="tokens that consolidation_model may use a day (UTC); 0: no limit"
    )
    time_zone: str | None = Field(
        default=None,
        description="time zone of dates in prompts, such as Europe/Berlin; unset: the zone of this machine",
    )
    judge: Literal["session", "model", "review"] = Field(
        default="session",
        description="what decides doubtful pairs of lessons after ops run and ops watch; session: the CLI of the "
        "session, or else model; model: model; review: they wait for review",
    )
    memory_budget: Annotated[int, Field(ge=0)] = Field(
        default=2000, description="token budget of the operational block"
    )
    prompts_directory: Path | None = Field(
        default=None, description="directory of custom tier prompts; unset: the built-in prompts"
    )
    prompt_by_file: bool = Field(
        default=False,
        description="pass the system prompt of ops run in a file, because other users of the machine can read "
        "arguments",
    )
    search_mode: Literal["semantic", "keyword", "hybrid", "contextual"] = Field(
        default="contextual",
        description="default mode of searches of an installed client and of the briefing; hybrid elsewhere",
    )
    min_relevance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=DEFAULT_MIN_RELEVANCE, description="minimum relevance of a recall or block; 0: no minimum"
    )
    min_confidence: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.2, description="minimum confidence of facts and rules in blocks; they fade unless confirmed"
    )
    rule_decay_rate: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.01, description="share of its confidence that a new rule loses a day until it is confirmed"
    )
    reranker: str = Field(
        default=RERANKER_LEARNED,
        description="choice of the memories near a prompt that are shown; learned: by a network that reads both, 0.1 s "
        "a prompt; off: by their likeness alone; or the name or local directory of a cross-encoder",
    )
    quarantine: bool = Field(
        default=True,
        description="omit memories that look like instructions from blocks until a person confirms them",
    )
    show_sources: bool = Field(
        default=False, description="show the source of each fact and rule in blocks, such as agent or web"
    )
    sweep_cron: str = Field(
        default="0 3 * * *", description="when facts and rules decay (cron, UTC); off: never"
    )
    cleanup_cron: str = Field(
        default="0 * * * *", description="when episodes are cleaned up (cron, UTC); off: never"
    )
    consolidation_cron: str = Field(
        default="0 */6 * * *", description="when episodes are consolidated (cron, UTC); off: never"
    )
    worker_concurrency: Annotated[int, Field(ge=1, le=64)] = Field(
        default=4, description="number of jobs that a worker runs at once"
    )
    episode_max_entries: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        default=10_000, description="number of episodes of a tenant that a cleanup keeps"
    )
    episode_days: Annotated[int, Field(ge=1, le=3650)] = Field(
        default=7, description="days that an episode lives; counts for episodes stored from then on"
    )
    lesson_grace_days: Annotated[int, Field(ge=0, le=3650)] = Field(
        default=30, description="days without reinforcement after which a lesson loses 0.1 a week"
    )
    backup_warning_days: Annotated[int, Field(ge=0)] = Field(
        default=14,
        description="age in days from which the last backup is old, and doctor and the overview warn; 0: no warning",
    )
    resident_idle_s: Annotated[float, Field(ge=0)] = Field(
        default=1800.0,
        description="seconds without a hook or a command after which the process that answers them ends; 0: no such "
        "process",
    )
    otel_endpoint: str | None = Field(
        default=None,
        description="URL for traces of the service (OTLP over HTTP); needs the extra otel; unset: no traces",
    )
    otel_content: bool = Field(
        default=False, description="include the texts of queries in the spans of searches"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING", description="minimum level of printed log records"
    )

    @field_validator("home", "workspace", "prompts_directory", "model_api_key_file")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("postgres_url", *_BESIDE_POSTGRES_URL)
    @classmethod
    def _postgres_scheme(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        if not value.startswith(POSTGRES_SCHEMES):
            raise ValueError("expected a postgresql:// URL")
        beside = _BESIDE_POSTGRES_URL.get(info.field_name or "")
        if beside is not None and not info.data.get("postgres_url"):
            raise ValueError(beside)
        return value

    @field_validator("sweep_cron", "cleanup_cron", "consolidation_cron")
    @classmethod
    def _cron(cls, value: str, info: ValidationInfo) -> str:
        value = value.strip()
        if value in {"", CRON_OFF}:
            return CRON_OFF
        if value == cls.model_fields[str(info.field_name)].default:
            return value
        # Imported here: it takes longer than the rest of a command's start, and few settings name a cron.
        return import_module("commonplace.core.cron").check_cron(value)

    @field_validator("reranker")
    @classmethod
    def _known_reranker(cls, value: str) -> str:
        if value not in {RERANKER_LEARNED, RERANKER_OFF} and "/" not in value:
            raise ValueError(
                "expected learned, off, or a cross-encoder such as cross-encoder/ms-marco-MiniLM-L-6-v2"
            )
        return value

    @field_validator("otel_endpoint", "model_base_url")
    @classmethod
    def _http_scheme(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            example = _EXAMPLES[str(info.field_name)]
            raise ValueError(f"expected an http:// or https:// URL, such as {example}")
        return value

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            find_zone(value)
        return value

    @field_validator("database")
    @classmethod
    def _known_scheme(cls, value: str) -> str:
        if "://" in value and not value.startswith(POSTGRES_SCHEMES):
            raise ValueError("expected a path or a postgresql:// URL")
        return value

    @property
    def database_is_postgres(self) -> bool:
        """Whether operational and app memory are in PostgreSQL."""
        return self.database.startswith(POSTGRES_SCHEMES)

    def with_model(self, model: str | None) -> "Settings":
        """Return these settings with another model, or no model; the address and key of this model are dropped."""
        return self.model_copy(update={"model": model, "model_base_url": None, "model_api_key_file": None})

    @property
    def database_path(self) -> Path:
        """The SQLite file of operational and app memory; unused if they are in PostgreSQL."""
        return Path(self.database).expanduser().absolute() if self.database else self.home / "commonplace.db"

    @property
    def zone(self) -> tzinfo:
        """The zone of dates in prompts of models."""
        return find_zone(self.time_zone)

    @property
    def postgres_directory(self) -> Path:
        """The directory of the embedded PostgreSQL server's cluster."""
        return self.home / "postgres"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings, and the origin of each field's value in words."""

    settings: Settings
    origins: Mapping[str, str]

    def shown(self) -> list[tuple[str, str, str]]:
        """Return ``(field, value, origin)`` in the order of the fields, with passwords masked."""
        rows: list[tuple[str, str, str]] = []
        for field in Settings.model_fields:
            value: object = getattr(self.settings, field)
            if field == "database" and not value:
                value = self.settings.database_path
            rows.append((field, "" if value is None else mask_url(str(value)), self.origins[field]))
        return rows


def variable_of(field: str) -> str:
    """Return the name of the environment variable of a setting."""
    return _OWN_VARIABLE.get(field, f"{PREFIX}{field.upper()}")


def load_settings(
    *, read_current_directory: bool = True, environ: Mapping[str, str] | None = None
) -> LoadedSettings:
    """Load settings from the environment and ``commonplace.toml``.

    Args:
        read_current_directory: Read ``commonplace.toml`` in the current directory; ``False`` for processes that a
            client starts in a workspace.
        environ: Replaces the environment of this process.

    Raises:
        SettingsError: A key is unknown, a value is invalid, or the file cannot be read. The message names the key,
            the expected value and the value found.
    """
    environ = os.environ if environ is None else environ
    _refuse_unknown_variables(environ)
    values: dict[str, Any] = {}
    origins = dict.fromkeys(Settings.model_fields, "default")
    for path in _config_paths(environ, read_current_directory=read_current_directory):
        content = read_content(path)
        found = _parse(path, content)
        if not environ.get(CONFIG_VARIABLE):
            _refuse_untrusted(path, content, found, home_of(environ))
        values.update(found)
        origins.update(dict.fromkeys(found, str(path)))
    for field in Settings.model_fields:
        variable = variable_of(field)
        if environ.get(variable):
            values[field] = environ[variable]
            origins[field] = f"environment {variable}"
    return LoadedSettings(settings=_validated(values, origins), origins=origins)


def check_content(path: Path, content: bytes) -> None:
    """Check the content of a settings file.

    Raises:
        SettingsError: The content is not TOML, or a key is unknown or its value is invalid.
    """
    values = _parse(path, content)
    _validated(values, dict.fromkeys(values, str(path)))


def _validated(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    try:
        return Settings(**values)
    except ValidationError as error:
        raise SettingsError(_explain(error, origins)) from None


def home_of(environ: Mapping[str, str]) -> Path:
    """Return the home that an environment names, or the default home; an untrusted file cannot change it."""
    named = environ.get(variable_of("home"))
    return (Path(named).expanduser() if named else user_data_path("commonplace")).absolute()


def read_content(path: Path) -> bytes:
    """Return the content of a settings file.

    Raises:
        SettingsError: The file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None


def written_config(*, environ: Mapping[str, str] | None = None) -> Path:
    """Return the ``commonplace.toml`` that applies to every process of a home; the file may not exist yet."""
    environ = os.environ if environ is None else environ
    named = environ.get(CONFIG_VARIABLE)
    return Path(named).expanduser() if named else home_of(environ) / CONFIG_FILE


def _config_paths(environ: Mapping[str, str], *, read_current_directory: bool) -> list[Path]:
    """Return the files to read; a later file takes precedence over an earlier one."""
    written = written_config(environ=environ)
    if environ.get(CONFIG_VARIABLE):
        return [written]
    local = Path.cwd() / CONFIG_FILE
    is_other = read_current_directory and local.resolve() != written.resolve()
    return [path for path in ([written, local] if is_other else [written]) if path.is_file()]


def _refuse_untrusted(path: Path, content: bytes, values: Mapping[str, Any], home: Path) -> None:
    refused = sorted(values.keys() - WORKSPACE_KEYS)
    if refused and not is_trusted(path, content, home=home):
        raise SettingsError(
            f"{path}: sets {', '.join(refused)}, but is not trusted: a cloned repository could redirect your memories. "
            f"Read the file, then run `commonplace admin trust {shlex.quote(str(path.parent))}`, or remove these keys"
        )


def _parse(path: Path, content: bytes) -> dict[str, Any]:
    try:
        values = tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from None
    for key in values:
        if key not in Settings.model_fields:
            raise SettingsError(
                f"{path}: unknown key {quoted(key)}{_suggestion(key, list(Settings.model_fields))}"
            )
    return values


def _refuse_unknown_variables(environ: Mapping[str, str]) -> None:
    known = [CONFIG_VARIABLE, *(variable_of(field) for field in Settings.model_fields)]
    for name in environ:
        if name.startswith(PREFIX) and name not in known:
            raise SettingsError(f"environment: unknown variable {quoted(name)}{_suggestion(name, known)}")


def _suggestion(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    return f": did you mean {quoted(near[0])}?" if near else f": expected one of {', '.join(sorted(known))}"


def _explain(error: ValidationError, origins: Mapping[str, str]) -> str:
    """Return each fault on one line: the key, the origin of its value, the fault, and the value."""
    lines: list[str] = []
    for fault in error.errors():
        field = str(fault["loc"][0])
        got = cast("object", fault["input"])
        shown = quoted(mask_url(got) if isinstance(got, str) else got)
        lines.append(f"{field} ({origins.get(field, 'given')}): expected {expected_by(fault)}, got {shown}")
    return "; ".join(lines)
