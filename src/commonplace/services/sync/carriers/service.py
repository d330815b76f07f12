"""A commonplace service, which keeps the files for a tenant and cannot read them."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from commonplace.core.errors import CommonplaceError, StorageUnavailableError
from commonplace.services.sync.carriers.carrier import OneByOne
from commonplace.services.team_client import TeamClient

FILES: Final = "/api/v1/sync/files"
FILE: Final = "/api/v1/sync/file"
DELETE: Final = "/api/v1/sync/file/delete"
SENDING_S: Final = 60.0


class ServiceCarrier(OneByOne):
    """A service.

    Args:
        client: Its address, and the file with the token for it.
    """

    def __init__(self, client: TeamClient) -> None:
        self._client = client

    def names(self) -> AbstractSet[str]:
        """Return the names of all files."""
        return set(self._get(FILES)["names"])

    def get(self, name: str) -> bytes | None:
        """Return a file."""
        content = self._get(FILE, name=name)["content"]
        try:
            return None if content is None else b64decode(content, validate=True)
        except (TypeError, binascii.Error) as error:
            raise StorageUnavailableError(f"{self._client.url}: the answer is no file") from error

    def put(self, name: str, body: bytes) -> None:
        """Send a file, unless one of this name is there."""
        self._post(FILE, {"name": name, "content": b64encode(body).decode()})

    def delete(self, name: str) -> None:
        """Delete a file."""
        self._post(DELETE, {"name": name})

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        try:
            return self._client.get_now(path, **query)
        except CommonplaceError as error:
            raise StorageUnavailableError(str(error)) from error

    def _post(self, path: str, document: Mapping[str, str]) -> None:
        try:
            self._client.post_now(path, document, timeout_s=SENDING_S)
        except CommonplaceError as error:
            raise StorageUnavailableError(str(error)) from error
