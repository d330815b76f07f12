"""What the backends need to know, apart from their modules: those import libraries that may not be installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

EXTRACTIVE: Final = "extractive"
"""The name of the model that only picks sentences; it is also used where none is named."""

ApiKind = Literal["anthropic", "openai", "ollama"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOptions:
    """Which model behind an API, and where it is.

    Args:
        kind: The API that it speaks; ``ollama`` is OpenAI's as Ollama speaks it.
        model: Its name there.
        base_url: Another address than the maker's; that of OpenAI's API includes ``/v1``.
        api_key: ``None`` where none is needed.
    """

    kind: ApiKind
    model: str
    base_url: str | None
    api_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeOptions:
    """Which claude CLI, and how it runs.

    Args:
        executable: The ``claude`` program.
        model: An alias such as ``haiku`` or a full name; the account's default without one.
        environ: The environment that it starts from.
    """

    executable: Path
    model: str | None
    environ: Mapping[str, str]
