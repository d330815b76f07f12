"""The model that the settings name."""

import asyncio
import importlib
import importlib.util
import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import SettingsError
from commonplace.core.quoting import quoted
from commonplace.core.settings import Settings, variable_of
from commonplace.llm.backend import ModelBackend
from commonplace.llm.day_file import DayFile
from commonplace.llm.key_file import read_key
from commonplace.llm.ledger import Ledger
from commonplace.llm.model import Model
from commonplace.llm.options import EXTRACTIVE, PROGRAMS, ApiKind, ApiOptions, CliOptions

MODEL_FORMS: Final = (
    "anthropic:MODEL, gemini:MODEL, openai:MODEL, ollama:MODEL, claude-code[:MODEL], codex[:MODEL], "
    "gemini-cli[:MODEL], extractive"
)
CONSOLIDATION_TOKENS: Final = "consolidation-tokens"
"""The directory in the home with the tokens of each day."""

OLLAMA_PORT: Final = 11434

NO_KEY: Final = "none"
"""The key for servers that need no key; the clients refuse an empty key."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """A provider of an API: the variables of its key and its address, its extra, and the extra's module."""

    key_variables: tuple[str, ...]
    address_variable: str
    extra: str
    module: str


_PROVIDERS: Final[Mapping[ApiKind, _Provider]] = {
    "anthropic": _Provider(("ANTHROPIC_API_KEY",), "ANTHROPIC_BASE_URL", "anthropic", "anthropic"),
    "gemini": _Provider(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "GOOGLE_GEMINI_BASE_URL", "gemini", "google.genai"
    ),
    "openai": _Provider(("OPENAI_API_KEY",), "OPENAI_BASE_URL", "openai", "openai"),
    "ollama": _Provider((), "OLLAMA_HOST", "openai", "openai"),
}

Connect = Callable[[], Awaitable[ModelBackend]]


def names_language_model(settings: Settings) -> bool:
    """Return whether the settings name a language model; the extractive model only picks sentences."""
    return (settings.model or EXTRACTIVE) != EXTRACTIVE


def can_consolidate(settings: Settings) -> bool:
    """Return whether the settings name a language model for consolidation."""
    return names_language_model(_of_consolidation(settings))


def consolidation_ledger(settings: Settings, *, clock: Clock = utc_now) -> Ledger:
    """Return the ledger of ``consolidation_model``, which all processes of a home share."""
    return Ledger(
        daily_tokens=settings.consolidation_daily_tokens,
        clock=clock,
        day_file=DayFile(settings.home / CONSOLIDATION_TOKENS),
        always_shared=True,
        setting=variable_of("consolidation_daily_tokens"),
    )


@asynccontextmanager
async def open_consolidation_model(settings: Settings, *, clock: Clock = utc_now) -> AsyncGenerator[Model]:
    """Yield the model of consolidation: ``consolidation_model`` with its own budget, or ``model``.

    Raises:
        SettingsError: See :func:`open_model`.
    """
    ledger = None if settings.consolidation_model is None else consolidation_ledger(settings, clock=clock)
    async with open_model(_of_consolidation(settings), ledger=ledger, clock=clock) as model:
        yield model


def _of_consolidation(settings: Settings) -> Settings:
    """Return settings whose ``model`` is the consolidation model; address and key belong to the other model."""
    if settings.consolidation_model is None:
        return settings
    return settings.with_model(settings.consolidation_model)


@asynccontextmanager
async def open_model(
    settings: Settings,
    *,
    ledger: Ledger | None = None,
    clock: Clock = utc_now,
    environ: Mapping[str, str] | None = None,
) -> AsyncGenerator[Model]:
    """Yield the model that the settings name, and close its connections at the end of the block.

    A missing program, extra or key raises an error at once. The first call imports the model's libraries.

    Args:
        settings: ``home`` and the settings whose names begin with ``model`` are used.
        ledger: A ledger that several models share; ``None`` makes a ledger from the settings.
        clock: Gives the day of the token budget.
        environ: Has keys, addresses and the path to programs; ``None`` for the environment of this process.

    Raises:
        SettingsError: The model is unknown, or a program, extra or key is missing; the message says how to get it.
    """
    environ = os.environ if environ is None else environ
    name = settings.model or EXTRACTIVE
    model = Model(
        name=name,
        connect=_connector(name, settings, environ),
        extractive=not names_language_model(settings),
        ledger=ledger or _ledger(settings, clock),
        timeout_s=settings.model_timeout_s,
    )
    try:
        yield model
    finally:
        await model.aclose()


def cli_of(executable: Path) -> str | None:
    """Return the name that the settings have for a CLI, by the name of its file; ``None`` for other programs."""
    return next((name for name, (program, _) in PROGRAMS.items() if program == executable.name), None)


@asynccontextmanager
async def open_cli_model(
    settings: Settings,
    executable: Path,
    *,
    model: str | None,
    environ: Mapping[str, str],
    clock: Clock = utc_now,
) -> AsyncGenerator[Model]:
    """Yield the CLI in a file as a model, with the tokens a day and the time limit of ``model``.

    Args:
        settings: ``home`` and the limits of models are used.
        executable: A program that :func:`cli_of` knows.
        model: A name that the CLI knows; ``None`` for the default of the account.
        environ: The environment of the CLI.
        clock: Gives the day of the token budget.

    Raises:
        SettingsError: The program is no CLI that can be a model.
    """
    name = cli_of(executable)
    if name is None:
        programs = ", ".join(program for program, _ in PROGRAMS.values())
        raise SettingsError(f"{executable} cannot be a model: expected one of {programs}")
    options = CliOptions(name=name, executable=executable, model=model, environ=environ)
    yield Model(
        name=f"{name}:{model}" if model else name,
        connect=_deferred("cli_backend", options),
        ledger=_ledger(settings, clock),
        timeout_s=settings.model_timeout_s,
    )


def _ledger(settings: Settings, clock: Clock) -> Ledger:
    """Return the ledger of ``model``, whose limit all processes of a home share."""
    return Ledger(
        daily_tokens=settings.model_daily_tokens,
        clock=clock,
        day_file=DayFile(settings.home / "model-tokens"),
    )


def _connector(name: str, settings: Settings, environ: Mapping[str, str]) -> Connect:
    kind, colon, model = name.partition(":")
    match kind:
        case _ if name == EXTRACTIVE:
            _refuse_address(name, settings)
            return _deferred("extractive_backend", None)
        case _ if kind in PROGRAMS and (model or not colon):
            _refuse_address(name, settings)
            executable = _program(kind, environ)
            options = CliOptions(name=kind, executable=executable, model=model or None, environ=environ)
            return _deferred("cli_backend", options)
        case "anthropic" | "gemini" | "openai" | "ollama" if model:
            return _deferred("api_backend", api_options(settings, environ))
        case _:
            raise SettingsError(f"unknown model {quoted(name)}: expected one of {MODEL_FORMS}")


def _refuse_address(name: str, settings: Settings) -> None:
    """Refuse an address or a key that the model would not use."""
    for field in ("model_base_url", "model_api_key_file"):
        if getattr(settings, field) is not None:
            raise SettingsError(
                f"{variable_of(field)} is set, but the model {quoted(name)} does not use it: "
                "unset it, or choose a model behind an API"
            )


def _deferred(module: str, options: object) -> Connect:
    """Return a function that imports a backend and connects it.

    The import is deferred because the libraries of a backend take longer to import than the rest of the package, and
    may not be installed.
    """

    async def connect() -> ModelBackend:
        loaded: Any = await asyncio.to_thread(importlib.import_module, f"commonplace.llm.{module}")
        backend: ModelBackend = await loaded.connect(options)
        return backend

    return connect


def api_options(settings: Settings, environ: Mapping[str, str]) -> ApiOptions:
    """Return the options of a model behind an API.

    Raises:
        SettingsError: The extra or the key is missing.
    """
    name, _, model = (settings.model or "").partition(":")
    kind = cast("ApiKind", name)
    provider = _PROVIDERS[kind]
    _require_extra(provider, wanted_by=f"{kind}:{model}")
    own = settings.model_base_url
    given = own or environ.get(provider.address_variable) or None
    key_file = settings.model_api_key_file
    return ApiOptions(
        kind=kind,
        model=model,
        base_url=_base_url(kind, given, own=own is not None),
        api_key=read_key(key_file) if key_file else _api_key(kind, environ, own=own, given=given),
        dialects=settings.home / "model-dialects",
    )


def _base_url(kind: ApiKind, given: str | None, *, own: bool) -> str | None:
    """Return the address as the client expects it.

    An address in our own setting without a path gets the path ``/v1`` of OpenAI's API. Addresses in other variables are
    used as the providers' own clients use them.
    """
    if kind == "ollama":
        return ollama_url((given or "").removesuffix("/").removesuffix("/v1"))
    if own and given and kind == "openai" and urlsplit(given).path in {"", "/"}:
        return f"{given.removesuffix('/')}/v1"
    return given


def _api_key(kind: ApiKind, environ: Mapping[str, str], *, own: str | None, given: str | None) -> str | None:
    """Return the key in the environment; a provider's key is never sent to an address in our own setting."""
    if own is not None:
        return NO_KEY
    if kind == "ollama":
        return None
    variables = _PROVIDERS[kind].key_variables
    if key := next(filter(None, map(environ.get, variables)), None):
        return key
    if kind == "openai" and given:
        return NO_KEY
    raise SettingsError(
        f"a model {kind}:… needs a key: "
        f"set COMMONPLACE_MODEL_API_KEY_FILE to a file with the key, or set {variables[0]}"
    )


def _require_extra(provider: _Provider, *, wanted_by: str) -> None:
    for module in ("pydantic_ai", provider.module):
        if not _is_installed(module):
            raise SettingsError(
                f"the model {quoted(wanted_by)} needs {quoted(module)}, which is not installed: "
                f"run `pip install 'commonplace[{provider.extra}]'`"
            )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # The parent package is missing.
        return False


def _program(name: str, environ: Mapping[str, str]) -> Path:
    program, package = PROGRAMS[name]
    found = shutil.which(program, path=environ.get("PATH", os.defpath))
    if found is None:
        raise SettingsError(
            f"the model {name} needs the program `{program}`, which is not on the PATH: run `npm install -g {package}`"
        )
    return Path(found).absolute()


def ollama_url(host: str) -> str:
    """Return the address of Ollama's OpenAI-compatible API from the value of ``OLLAMA_HOST``.

    The scheme and the port are optional. A wildcard address means this machine.
    """
    with_scheme = host if "://" in host else f"http://{host or '127.0.0.1'}"
    parts = urlsplit(with_scheme)
    name = parts.hostname or "127.0.0.1"
    if name in {"0.0.0.0", "::"}:  # noqa: S104 - recognised here, not listened on
        name = "127.0.0.1"
    shown = f"[{name}]" if ":" in name else name
    # As in Ollama, a bare host gets Ollama's port, and a URL without a port gets the port of its scheme.
    port = parts.port or (OLLAMA_PORT if "://" not in host else None)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}/v1"
