"""The model that the settings name."""

import asyncio
import importlib
import importlib.util
import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from commonplace.core.clock import Clock, utc_now
from commonplace.core.errors import SettingsError
from commonplace.core.settings import Settings
from commonplace.llm.backend import ModelBackend
from commonplace.llm.day_file import DayFile
from commonplace.llm.ledger import Ledger
from commonplace.llm.model import Model
from commonplace.llm.options import EXTRACTIVE, ApiKind, ApiOptions, ClaudeOptions

MODEL_FORMS: Final = "anthropic:MODEL, openai:MODEL, ollama:MODEL, claude-code, claude-code:MODEL, extractive"
OLLAMA_PORT: Final = 11434

_KEY: Final = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}
_BASE_URL: Final = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}

Connect = Callable[[], Awaitable[ModelBackend]]


def names_language_model(settings: Settings) -> bool:
    """Return whether the settings name a language model; the extractive model only picks sentences."""
    return (settings.model or EXTRACTIVE) != EXTRACTIVE


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
        settings: ``model``, ``model_timeout_s`` and ``model_daily_tokens`` are used.
        ledger: A ledger that several models share; ``None`` makes a ledger from the settings.
        clock: Gives the day of the token budget.
        environ: Keys, addresses and the path to programs; ``None`` for the environment of this process.

    Raises:
        SettingsError: The model is unknown, or something that it needs is missing; the message says how to install it.
    """
    environ = os.environ if environ is None else environ
    name = settings.model or EXTRACTIVE
    model = Model(
        name=name,
        connect=_connector(name, environ),
        extractive=not names_language_model(settings),
        ledger=ledger
        or Ledger(
            daily_tokens=settings.model_daily_tokens,
            clock=clock,
            day_file=DayFile(settings.home / "model-tokens"),
        ),
        timeout_s=settings.model_timeout_s,
    )
    try:
        yield model
    finally:
        await model.aclose()


def _connector(name: str, environ: Mapping[str, str]) -> Connect:
    kind, colon, model = name.partition(":")
    match kind:
        case _ if name == EXTRACTIVE:
            return _deferred("extractive_backend", None)
        case "claude-code" if model or not colon:
            options = ClaudeOptions(executable=_claude(environ), model=model or None, environ=environ)
            return _deferred("claude_backend", options)
        case "anthropic" | "openai" | "ollama" if model:
            return _deferred("api_backend", _api(kind, model, environ))
        case _:
            raise SettingsError(f"COMMONPLACE_MODEL: unknown model {name!r}: expected one of {MODEL_FORMS}")


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


def _api(kind: ApiKind, model: str, environ: Mapping[str, str]) -> ApiOptions:
    _require_extra("openai" if kind == "ollama" else kind, wanted_by=f"{kind}:{model}")
    if kind == "ollama":
        address = ollama_url(environ.get("OLLAMA_HOST", ""))
        return ApiOptions(kind=kind, model=model, base_url=address, api_key=None)
    base_url = environ.get(_BASE_URL[kind]) or None
    key = _api_key(kind, environ, base_url)
    return ApiOptions(kind=kind, model=model, base_url=base_url, api_key=key)


def _api_key(kind: Literal["anthropic", "openai"], environ: Mapping[str, str], base_url: str | None) -> str:
    if key := environ.get(_KEY[kind]):
        return key
    if kind == "openai" and base_url:
        return "none"  # Local servers with this API accept any key.
    raise SettingsError(f"COMMONPLACE_MODEL names an {kind} model: set the variable {_KEY[kind]}")


def _require_extra(extra: Literal["anthropic", "openai"], *, wanted_by: str) -> None:
    for module in ("pydantic_ai", extra):
        if importlib.util.find_spec(module) is None:
            raise SettingsError(
                f"COMMONPLACE_MODEL: the model {wanted_by!r} needs {module!r}, which is not installed: "
                f"run `pip install 'commonplace[{extra}]'`"
            )


def _claude(environ: Mapping[str, str]) -> Path:
    found = shutil.which("claude", path=environ.get("PATH", os.defpath))
    if found is None:
        raise SettingsError(
            "COMMONPLACE_MODEL is claude-code, but the program `claude` is not on the PATH: "
            "run `npm install -g @anthropic-ai/claude-code`"
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
    # Like Ollama: a bare host gets Ollama's port, a URL without a port gets the port of its scheme.
    port = parts.port or (OLLAMA_PORT if "://" not in host else None)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{path}/v1"
