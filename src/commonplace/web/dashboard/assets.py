"""The dashboard's static files: where they are, and URLs that change with their content.

A URL carries a part of the file's checksum, so that browsers may keep a file for good and still get the next release's.
Scripts of others are in ``static/vendor``, fetched by ``scripts/assets.py``; without them every page still works, by
plain links and forms.
"""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC_PATH: Final = "/static"
"""Where the service mounts :func:`static_app`."""

DIRECTORY: Final = Path(__file__).parent / "static"
VENDORED: Final = ("vendor/htmx.js", "vendor/idiomorph.js", "vendor/uplot.js", "vendor/uplot.css")
"""Every page loads these; the graph library is for the pages that ask for it."""

VERSION: Final = "v"
FOR_GOOD: Final = "public, max-age=31536000, immutable"
ASK_FIRST: Final = "no-cache"


class _VersionedFiles(StaticFiles):
    """Static files that a browser may keep for good where the URL names their version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        versioned = VERSION in parse_qs(scope["query_string"].decode("latin-1"))
        response.headers["Cache-Control"] = FOR_GOOD if versioned else ASK_FIRST
        return response


def static_app() -> StaticFiles:
    """Return the application that serves the files, to be mounted at :data:`STATIC_PATH`."""
    return _VersionedFiles(directory=DIRECTORY)


def asset(name: str) -> str:
    """Return the URL of a file, for example of ``app.css``.

    Raises:
        FileNotFoundError: There is no such file.
    """
    path = DIRECTORY / name
    state = path.stat()
    return f"{STATIC_PATH}/{name}?{VERSION}={_checksum(path, state.st_mtime_ns, state.st_size)}"


def has_asset(name: str) -> bool:
    """Tell whether a file is there; those of ``vendor/`` may not be."""
    return (DIRECTORY / name).is_file()


def is_complete() -> bool:
    """Tell whether the scripts of others that every page loads are there."""
    return all(has_asset(name) for name in VENDORED)


@lru_cache(maxsize=256)
def _checksum(path: Path, _changed_ns: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
