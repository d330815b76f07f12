"""Knowledge memory of a team: a ``commonplace serve`` on another machine that local hooks and MCP servers call.

Each request reads the token from its file, so a new token takes effect at once. Requests go directly to the service,
without a proxy, and follow no redirect, so that the token reaches nobody else.
"""

import asyncio
import json
import ssl
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Self, cast
from urllib.parse import urlencode, urlsplit

from commonplace.core.errors import AccessError, InvalidInputError, SettingsError, StorageUnavailableError

CONNECT_S: Final = 2.0
READ_S: Final = 10.0
TOOL_S: Final = 300.0
"""Seconds for a call of a tool: a consolidation on request takes minutes."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_TEMPORARY: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
_DONE: Final = ("/docs#answer-lost", "/docs#key-reused")
"""Problems of a keyed request that the service has already carried out, under this token or an earlier one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamClient:
    """The address of a service, without a slash at its end, and the file with the token for it."""

    url: str
    token_file: Path

    @classmethod
    def at(cls, url: str, token_file: str | Path) -> Self:
        """Return the service at an address.

        Raises:
            InvalidInputError: The address is neither an ``https://`` address nor an ``http://`` address of this
                machine, or the path of the file is not absolute.
        """
        file = Path(token_file)
        if not file.is_absolute():
            raise InvalidInputError(
                "--token-file", "the absolute path of a file with a token", str(token_file)
            )
        parts = urlsplit(url)
        is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
        if not (is_plain and is_safe and parts.hostname):
            raise InvalidInputError("--server", "https://HOST, or http:// for this machine", url)
        return cls(url=url.rstrip("/"), token_file=file)

    def token(self) -> str:
        """Return the token.

        Raises:
            SettingsError: The file cannot be read, other users may read it, or it holds no token.
        """
        try:
            mode = stat.S_IMODE(self.token_file.stat().st_mode)
            token = self.token_file.read_bytes().decode("ascii", "replace").strip()
        except OSError as error:
            raise SettingsError(f"--token-file: cannot read {self.token_file}: {error.strerror}") from None
        if mode & _OTHERS:
            raise SettingsError(
                f"--token-file: other users can read {self.token_file}: run `chmod 600 {self.token_file}`"
            )
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise SettingsError(
                f"--token-file: expected one token in {self.token_file}, found something else"
            )
        return token

    async def post(
        self, path: str, document: Mapping[str, Any], *, key: str | None = None, timeout_s: float = READ_S
    ) -> dict[str, Any]:
        """Post a document to a path, and return the answer.

        With an ``Idempotency-Key``, the answer may be empty if the service has already carried out the request.

        Raises:
            AccessError: The service refuses the token.
            InvalidInputError: The service refuses the request and would refuse it again.
            SettingsError: The token cannot be read.
            StorageUnavailableError: The service cannot be reached, or fails; another try may help.
        """
        more = {"Idempotency-Key": key} if key else {}
        return await asyncio.to_thread(self.post_now, path, document, more, timeout_s)

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Return a document; see :meth:`post` for errors."""
        return await asyncio.to_thread(self.get_now, path, **query)

    def post_now(
        self,
        path: str,
        document: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        timeout_s: float = READ_S,
    ) -> dict[str, Any]:
        """Post a document as :meth:`post` does; the call blocks."""
        return self._ask("POST", path, json.dumps(document).encode(), headers or {}, timeout_s)

    def get_now(self, path: str, **query: str) -> dict[str, Any]:
        """Return a document as :meth:`get` does; the call blocks."""
        return self._ask("GET", f"{path}?{urlencode(query)}", None, {}, READ_S)

    async def sections(self, names: Sequence[str], **wanted: object) -> dict[str, str]:
        """Return the sections ``knowledge`` or ``sessions`` of the service's briefing by their names.

        The further arguments are fields of the request, such as ``prompt`` and ``butler``.

        Raises:
            StorageUnavailableError: The service cannot be reached, or a section has a problem; see also :meth:`post`.
        """
        built = await self.post("/api/v1/briefing", {"sections": list(names), **wanted})
        for section in built["sections"]:
            if section["problem"]:
                raise StorageUnavailableError(f"{self.url}: {section['name']}: {section['problem']}")
        return {section["name"]: str(section["text"]) for section in built["sections"]}

    async def call(
        self, method: str, params: Mapping[str, Any], *, server: str = "knowledge"
    ) -> dict[str, Any]:
        """Send a request of the Model Context Protocol to an MCP server of the service, and return its result.

        Raises:
            InvalidInputError: The server refuses the request; see also :meth:`post`.
        """
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.post(f"/mcp/{server}/", message, timeout_s=TOOL_S)
        if "error" in answer:
            raise InvalidInputError(method, "a request that the service accepts", answer["error"]["message"])
        return cast("dict[str, Any]", answer["result"])

    def _ask(
        self, method: str, path: str, body: bytes | None, more: Mapping[str, str], timeout_s: float
    ) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self.token()}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            **more,
        }
        parts = urlsplit(self.url)
        connection = _connection(parts.scheme, parts.hostname or "", parts.port)
        try:
            connection.connect()
            connection.sock.settimeout(timeout_s)
            connection.request(method, parts.path + path, body, headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
        except (OSError, HTTPException) as error:
            raise StorageUnavailableError(f"{self.url} cannot be reached: {error or 'no answer'}") from None
        finally:
            connection.close()
        return self._checked(status, text)

    def _checked(self, status: int, text: bytes) -> dict[str, Any]:
        try:
            read: object = json.loads(text)
        except ValueError:
            read = None
        document = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
        if status < HTTPStatus.MULTIPLE_CHOICES and isinstance(read, dict):
            return document
        if document.get("type") in _DONE:
            return {}
        detail = str(document.get("detail") or f"the answer has the status {status}")
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise AccessError(f"{self.url} refuses the token in {self.token_file}: {detail}")
        if status in _TEMPORARY or not HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise StorageUnavailableError(f"{self.url}: {detail}")
        raise InvalidInputError(
            str(document.get("field") or "request"),
            str(document.get("expected") or "a request that the service accepts"),
            document.get("got") or detail,
        )


def _connection(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "http":
        return HTTPConnection(host, port, timeout=CONNECT_S)
    return HTTPSConnection(host, port, timeout=CONNECT_S, context=ssl.create_default_context())


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
