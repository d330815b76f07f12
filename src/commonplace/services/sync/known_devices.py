"""Devices of a home, as this device knows them.

Source: ADR 0040.
"""

from dataclasses import dataclass

from commonplace.services.sync.device_files import Departure, FileHead


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownDevice:
    """Another device, or this one.

    Attributes:
        device: Its id.
        name: What a person calls it.
        public: Its public key.
        exchange: Its public exchange key, to which new keys of the home are sealed.
        key_id: The id of the home key with which it joined.
        number: The number of its latest file that was taken, or written.
        digest: The digest of that file.
        departure: Why it writes nothing more; ``None`` for a member of the home.
    """

    device: str
    name: str
    public: bytes
    exchange: bytes
    key_id: bytes
    number: int = 0
    digest: str = ""
    departure: Departure | None = None

    @property
    def is_member(self) -> bool:
        """Whether the device still belongs to the home."""
        return self.departure is None

    @property
    def head(self) -> FileHead:
        """Its latest file."""
        return FileHead(self.number, self.digest)
