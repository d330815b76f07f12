"""Static files of the dashboard, with URLs that change with their content.

A URL contains a part of the file's checksum, so browsers can cache a file forever and still get the next release.
Third-party scripts are in ``static/vendor``, fetched by ``scripts/assets.py``; without them, pages work with plain
links and forms.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

STATIC_PATH: Final = "/static"
"""The path of :func:`static_app`."""

DIRECTORY: Final = Path(__file__).parent / "static"
VENDORED: Final = ("vendor/htmx.js", "vendor/idiomorph.js", "vendor/uplot.js", "vendor/uplot.css")
"""The files that pages need: charts load uPlot, and all pages load the others. Only the graph page needs another."""

VERSION: Final = "v"
FOR_GOOD: Final = "public, max-age=31536000, immutable"
ASK_FIRST: Final = "no-cache"


class _VersionedFiles(StaticFiles):
    """Static files that browsers may cache forever if the URL names the version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        versioned = VERSION in parse_qs(scope["query_string"].decode("latin-1"))
        response.headers["Cache-Control"] = FOR_GOOD if versioned else ASK_FIRST
        return response


def static_app() -> ASGIApp:
    """Return the application that serves the files, compressed, for :data:`STATIC_PATH`."""
    return GZipMiddleware(_VersionedFiles(directory=DIRECTORY))


def asset(name: str) -> str:
    """Return the URL of a file, for example of ``app.css``.

    Raises:
        FileNotFoundError: The file does not exist.
    """
    path = DIRECTORY / name
    state = path.stat()
    return f"{STATIC_PATH}/{name}?{VERSION}={_checksum(path, state.st_mtime_ns, state.st_size)}"


def has_asset(name: str) -> bool:
    """Return whether a file exists; files of ``vendor/`` may be missing."""
    return (DIRECTORY / name).is_file()


def is_complete() -> bool:
    """Return whether the third-party files that every page loads exist."""
    return all(has_asset(name) for name in VENDORED)


@lru_cache(maxsize=256)
def _checksum(path: Path, _changed_ns: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
