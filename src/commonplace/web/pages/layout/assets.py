"""Static files of the dashboard, with URLs that depend on their content.

A URL contains part of the file's checksum, so browsers can cache a file forever and still get the next release.
Third-party scripts are in ``static/vendor``, fetched by ``scripts/assets.py``; without them, pages work with plain
links and forms.
"""

import gzip
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import ASGIApp, Scope

STATIC_PATH: Final = "/static"
"""The path of :func:`static_app`."""

DIRECTORY: Final = Path(__file__).parents[1] / "static"
VENDORED: Final = ("vendor/htmx.js", "vendor/idiomorph.js", "vendor/uplot.js", "vendor/uplot.css")
"""Third-party files that pages need: charts load uPlot, all pages load the others. The graph page needs one more."""

VERSION: Final = "v"
FOR_GOOD: Final = "public, max-age=31536000, immutable"
ASK_FIRST: Final = "no-cache"


class _VersionedFiles(StaticFiles):
    """Compressed static files that browsers may cache forever if the URL names the version."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        versioned = VERSION in parse_qs(scope["query_string"].decode("latin-1"))
        response.headers["Cache-Control"] = FOR_GOOD if versioned else ASK_FIRST
        return response

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        plain = super().file_response(full_path, stat_result, scope, status_code)
        plain.headers.add_vary_header("Accept-Encoding")
        accepted = Headers(scope=scope).get("accept-encoding", "")
        if not isinstance(plain, FileResponse) or "gzip" not in accepted:
            return plain
        headers = {name: plain.headers[name] for name in ("content-type", "etag", "last-modified", "vary")}
        content = _packed(Path(full_path), stat_result.st_mtime_ns, stat_result.st_size)
        return Response(content, status_code, {**headers, "Content-Encoding": "gzip"})


def static_app() -> ASGIApp:
    """Return the application that serves the files, for :data:`STATIC_PATH`."""
    return _VersionedFiles(directory=DIRECTORY)


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


@lru_cache(maxsize=64)
def _packed(path: Path, _changed_ns: int, _size: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)


@lru_cache(maxsize=256)
def _checksum(path: Path, _changed_ns: int, _size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
