"""Files of a device: changes, compressed, sealed with the key of the home and signed by the device.

A carrier cannot read a file. A file that was forged, moved to another place or put behind another file is refused,
because device, number and the digest of the file before are sealed with it. Each file says which files of other devices
its writer had taken, so a file that a carrier keeps back is missed.

A snapshot is a file, or several parts in a row, with all changes that its writer knows of all devices. It stands for
all files before it, so its first part can be read without them.

Source: ADR 0040.
"""

import json
import os
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from commonplace.core.errors import SyncFileError, SyncKeyError, SyncReleaseError
from commonplace.services.sync.changes import Change
from commonplace.services.sync.home_keys import ID_BYTES, HomeKey, KeyRing
from commonplace.services.sync.keys import NONCE_BYTES, DeviceKey

MAGIC: Final = b"commonplace sync 1\n"
_ANY_RELEASE: Final = re.compile(rb"commonplace sync \d+\n")
SIGNATURE_BYTES: Final = 64
MOST_BYTES: Final = 64_000_000
"""A file is refused if it unpacks to more."""

FIRST: Final = ""
"""The digest of the file before the first one."""

SNAPSHOT: Final = "snapshot"
"""The first part of a snapshot has this in place of the digest of the file before; its name ends so, too."""

_DIGEST_CHARS: Final = 16
_NAME: Final = re.compile(
    rf"(?P<device>[0-9a-f]{{16}})/(?P<number>\d{{8}})-(?P<digest>[0-9a-f]{{16}})(?P<snapshot>\.{SNAPSHOT})?"
)


class Departure(StrEnum):
    """Why a device writes nothing more into the home."""

    LEFT = "left"
    REVOKED = "revoked"


class FileHead(NamedTuple):
    """The latest file of a device that was taken, or written: its number and its digest."""

    number: int
    digest: str


class SnapshotPart(NamedTuple):
    """Which part of a snapshot a file is: from 0, and how many parts there are."""

    place: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """The place of a file in the chain of its device.

    Attributes:
        device: The id of the device.
        number: 1 for its first file.
        previous: The digest of the file before; empty for the first file; :data:`SNAPSHOT` for the first part of one.
    """

    device: str
    number: int
    previous: str

    @property
    def sealed(self) -> bytes:
        """The place as it is sealed with the file."""
        return json.dumps([self.device, self.number, self.previous]).encode()


class FileName(NamedTuple):
    """The name of a file at the carrier: ``DEVICE/NUMBER-DIGEST``, with an ending if a snapshot begins with it."""

    device: str
    number: int
    digest: str
    is_snapshot: bool = False

    def __str__(self) -> str:
        """Return the name as a carrier has it."""
        ending = f".{SNAPSHOT}" if self.is_snapshot else ""
        return f"{self.device}/{self.number:08}-{self.digest}{ending}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFile:
    """The content of a file.

    Attributes:
        changes: The changes, in the order in which they were made; those of a snapshot by kind and name.
        heads: The latest file of each other device whose changes the writer had taken.
        departures: The devices that left or were revoked, as far as the writer knows.
        receipts: In a snapshot, the devices that have done each erasure, and those that have taken all changes of
            each device that left.
        part: Set if the file is a part of a snapshot.
        is_last: Whether the device leaves with this file.
    """

    changes: Sequence[Change]
    heads: Mapping[str, FileHead]
    departures: Mapping[str, Departure] = field(default_factory=dict[str, Departure])
    receipts: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    part: SnapshotPart | None = None
    is_last: bool = False


def digest_of(body: bytes) -> str:
    """Return the digest of a file: 16 hexadecimal digits."""
    return sha256(body).hexdigest()[:_DIGEST_CHARS]


def name_of(place: FilePlace, body: bytes) -> str:
    """Return the name of a file at the carrier."""
    return str(FileName(place.device, place.number, digest_of(body), place.previous == SNAPSHOT))


def parse_name(name: str) -> FileName | None:
    """Return the parts of a file's name; ``None`` for the name of something else."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return FileName(match["device"], int(match["number"]), match["digest"], match["snapshot"] is not None)


def write_file(file: DeviceFile, place: FilePlace, home_key: HomeKey, device_key: DeviceKey) -> bytes:
    """Return the bytes of a file."""
    head = {
        "heads": dict(sorted(file.heads.items())),
        "departures": dict(sorted(file.departures.items())),
        "receipts": {subject: sorted(devices) for subject, devices in sorted(file.receipts.items())},
        "part": file.part,
        "last": file.is_last,
    }
    lines = "".join(f"{line}\n" for line in (json.dumps(head), *(each.to_json() for each in file.changes)))
    nonce = os.urandom(NONCE_BYTES)
    sealed = AESGCM(home_key.key).encrypt(nonce, zlib.compress(lines.encode(), 9), place.sealed)
    body = MAGIC + home_key.id + nonce + sealed
    return body + device_key.private.sign(body + place.sealed)


def read_file(body: bytes, place: FilePlace, ring: KeyRing, public: bytes) -> DeviceFile:
    """Return the content of a file.

    Args:
        body: The bytes of the file.
        place: Where it stands in the chain of its device.
        ring: The keys of the home.
        public: The public key of the device.

    Raises:
        SyncFileError: The file was not written by this device for this place, or was damaged.
        SyncReleaseError: A later release wrote it.
        SyncKeyError: It is sealed with a key that is not in the ring.
    """
    label = f"file {place.number} of {place.device}"
    signed, signature = body[:-SIGNATURE_BYTES], body[-SIGNATURE_BYTES:]
    if not signed.startswith(MAGIC):
        if _ANY_RELEASE.match(signed):
            raise SyncReleaseError(f"{label} was written by a later release")
        raise SyncFileError(f"{label} is forged or damaged")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, signed + place.sealed)
        key_id, sealed = signed[len(MAGIC) :][:ID_BYTES], signed[len(MAGIC) + ID_BYTES :]
        home_key = ring.by_id(key_id)
        if home_key is None:
            raise SyncKeyError(f"{label} is sealed with a key that has not arrived yet")
        packed = AESGCM(home_key.key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.sealed)
        text = _unpacked(packed)
    except (InvalidSignature, InvalidTag, ValueError) as error:
        raise SyncFileError(f"{label} is forged or damaged") from error
    try:
        return _parsed(text)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The device signed these bytes, so they are whole: only a later release writes what this one cannot parse.
        raise SyncReleaseError(f"{label} was written by a later release") from error


def _unpacked(packed: bytes) -> str:
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, MOST_BYTES)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("the file is too long or incomplete")
    return text.decode()


def _parsed(text: str) -> DeviceFile:
    first, *lines = text.removesuffix("\n").split("\n")
    head: Any = json.loads(first)
    return DeviceFile(
        changes=[Change.from_json(line) for line in lines],
        heads={str(device): FileHead(int(each[0]), str(each[1])) for device, each in head["heads"].items()},
        departures={str(device): Departure(each) for device, each in head["departures"].items()},
        receipts={str(subject): frozenset(map(str, each)) for subject, each in head["receipts"].items()},
        part=None if head["part"] is None else SnapshotPart(int(head["part"][0]), int(head["part"][1])),
        is_last=bool(head["last"]),
    )
