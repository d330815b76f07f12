"""The carrier of a target: a folder, a Git remote or a service, by the form of its address."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from commonplace.core.errors import InvalidInputError
from commonplace.services.sync.carriers.carrier import Carrier
from commonplace.services.sync.carriers.folder import FolderCarrier
from commonplace.services.sync.carriers.git import GitCarrier
from commonplace.services.sync.carriers.service import ServiceCarrier
from commonplace.services.team_client import TeamClient

_GIT: Final = re.compile(r"(git\+|git://|ssh://|[\w.-]+@[\w.-]+:).*|.*\.git/?")
_SERVICE: Final = re.compile(r"https?://.*")
CACHE: Final = "git"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTarget:
    """A target.

    Attributes:
        address: The path of a folder; ``git+`` and a URL or path, a URL or path that ends in ``.git``, or one of ssh;
            or the URL of a service.
        token_file: The file with the token for a service.
    """

    address: str
    token_file: Path | None = None


def carrier_at(target: SyncTarget, folder: Path) -> Carrier:
    """Return the carrier of a target.

    Args:
        target: The target.
        folder: Where this device keeps what it knows of the target.

    Raises:
        InvalidInputError: The address is none, or a service needs a token.
    """
    address = target.address
    if _GIT.fullmatch(address):
        return GitCarrier(address.removeprefix("git+"), folder / CACHE)
    if _SERVICE.fullmatch(address):
        if target.token_file is None:
            raise InvalidInputError("--token-file", "a file with the token for the service", "none")
        return ServiceCarrier(TeamClient.at(address, target.token_file))
    path = Path(address).expanduser()
    if not path.is_absolute():
        raise InvalidInputError(
            "target", "an absolute path of a folder, a Git remote, or the URL of a service", address
        )
    return FolderCarrier(path)
