"""Options of the backends, in a separate module because a backend's libraries may not be installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

EXTRACTIVE: Final = "extractive"
"""The name of the extractive model, which is the default."""

ApiKind = Literal["anthropic", "gemini", "openai", "ollama"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """A model behind an API.

    Args:
        kind: The API; ``ollama`` is OpenAI's API in Ollama's variant.
        model: The model's name in the API.
        base_url: The address; ``None`` for the provider's own. An address of OpenAI's API includes ``/v1``.
        api_key: ``None`` if the API needs no key.
        dialects: The directory that remembers what servers accept; ``None`` to remember it in this process only.
    """

    kind: ApiKind
    model: str
    base_url: str | None
    api_key: str | None
    dialects: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CliOptions:
    """A CLI of an agent host, used as a model.

    Args:
        name: A key of :data:`PROGRAMS`.
        model: A name that the CLI knows, such as ``haiku``; ``None`` for the default of the account.
    """

    name: str
    executable: Path
    model: str | None
    environ: Mapping[str, str]


PROGRAMS: Final[Mapping[str, tuple[str, str]]] = {
    "claude-code": ("claude", "@anthropic-ai/claude-code"),
    "codex": ("codex", "@openai/codex"),
    "gemini-cli": ("gemini", "@google/gemini-cli"),
}
"""The CLIs that can be models: the program of each, and its package on npm."""
