"""The number of the format of a JSON file in a home, which an earlier release checks before it rewrites the file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from commonplace.core.errors import FileTooNewError

KEY: Final = "format"
FIRST: Final = 1
"""The format of a file without a number. A release that adds fields that must not be lost raises the number."""


def require_format(document: Mapping[str, Any], *, path: Path) -> None:
    """Require that this release knows the format of a file.

    Raises:
        FileTooNewError: A newer release wrote the file.
    """
    number = document.get(KEY, FIRST)
    if number != FIRST:
        raise FileTooNewError(str(path), number, FIRST)
