"""Fetching a model from a hub: the real client against a hub on loopback."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.deadlines import DEADLINE_S

COMMIT = "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b"{}",
    "tokenizer.json": b'{"a": 1}',
    "model.safetensors": b"weights",
    "README.md": b"not needed",
}

FIND = """
import sys
from pathlib import Path
from commonplace.embedding import EmbeddingOptions
from commonplace.embedding.model_files import find_model
model, cache, allowed = sys.argv[1:]
print(find_model(EmbeddingOptions(model=model, cache_dir=Path(cache), allow_download=allowed == "yes")).weights)
"""


def _etag(body: bytes) -> str:
    return hashlib.sha1(body, usedforsecurity=False).hexdigest()


class Hub(BaseHTTPRequestHandler):
    """Answers what the client asks of a hub for one repository, ``team/model``."""

    def do_GET(self) -> None:
        """Answer the list of files, or a file."""
        if self.path.startswith("/api/models/team/model/tree/"):
            tree = [
                {"type": "file", "path": name, "size": len(body), "oid": _etag(body)}
                for name, body in FILES.items()
            ]
            self._answer(200, json.dumps(tree).encode(), "application/json")
        elif self.path.startswith("/api/models/team/model"):
            siblings = [{"rfilename": name} for name in FILES]
            body = json.dumps({"id": "team/model", "sha": COMMIT, "siblings": siblings}).encode()
            self._answer(200, body, "application/json")
        else:
            self._file()

    do_HEAD = do_GET  # noqa: N815  the server calls it by this name

    def _file(self) -> None:
        body = FILES.get(self.path.rpartition("/")[2]) if "/resolve/" in self.path else None
        self._answer(200 if body is not None else 404, body or b"", "application/octet-stream")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{_etag(body)}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base class
        """Say nothing: the tests read what the client prints."""


@pytest.fixture
def hub() -> Iterator[str]:
    """Serve a hub, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(timeout=DEADLINE_S)
    server.server_close()


def _find(hub: str, model: str, cache: Path, allowed: str) -> subprocess.CompletedProcess[str]:
    # The client reads its address once, when it is imported: hence a process for each.
    environment = {**os.environ, "HF_ENDPOINT": hub, "HF_HOME": str(cache / "hf"), "HF_HUB_DISABLE_XET": "1"}
    environment.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-c", FIND, model, str(cache), allowed]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )


def test_a_model_is_fetched_once_and_kept(hub: str, tmp_path: Path) -> None:
    """It lands in the cache directory without what is not needed, and is found there when the hub is gone."""
    fetched = _find(hub, "team/model", tmp_path, "yes")
    directory = tmp_path / "team--model"
    assert fetched.stdout.strip() == str(directory / "model.safetensors"), fetched.stderr
    assert (directory / "model.safetensors").read_bytes() == b"weights"
    assert not (directory / "README.md").exists()
    again = _find("http://127.0.0.1:9", "team/model", tmp_path, "no")
    assert again.stdout == fetched.stdout


def test_nothing_is_fetched_that_is_not_allowed(hub: str, tmp_path: Path) -> None:
    """A hub that has the model is not asked."""
    refused = _find(hub, "team/model", tmp_path, "no")
    assert refused.returncode == 1
    assert "allow downloads" in refused.stderr
    assert not list(tmp_path.iterdir())


def test_a_model_that_the_hub_has_not_is_missing(hub: str, tmp_path: Path) -> None:
    """The client's own error comes out as one of ours, with the name in it."""
    missing = _find(hub, "team/another", tmp_path, "yes")
    assert missing.returncode == 1
    assert 'ModelMissingError: cannot download the embedding model "team/another"' in missing.stderr
