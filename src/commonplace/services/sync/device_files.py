"""Files of a device: changes, compressed, sealed with the key of the home and signed by the device.

A file cannot be read by its carrier. One that was forged, moved to another place, or put behind another file is
refused: device, number and the digest of the file before are sealed with it. What a carrier keeps back is told by the
files of other devices, which say what they had seen.

Source: ADR 0040.
"""

import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from commonplace.core.errors import InvalidInputError, SyncFileError
from commonplace.services.sync.changes import Change
from commonplace.services.sync.keys import NONCE_BYTES, DeviceKey

MAGIC: Final = b"commonplace sync 1\n"
SIGNATURE_BYTES: Final = 64
MOST_BYTES: Final = 64_000_000
"""A file is refused if it unpacks to more."""

FIRST: Final = ""
"""The digest of the file before the first one."""

_DIGEST_CHARS: Final = 16
_NAME: Final = re.compile(r"(?P<device>[0-9a-f]{16})/(?P<number>\d{8})-(?P<digest>[0-9a-f]{16})")


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """The place of a file in the chain of its device.

    Attributes:
        device: The id of the device.
        number: 1 for its first file.
        previous: The digest of the file before; empty for the first one.
    """

    device: str
    number: int
    previous: str

    @property
    def sealed(self) -> bytes:
        """The place as it is sealed with the file."""
        return json.dumps([self.device, self.number, self.previous]).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceFile:
    """What a file holds.

    Attributes:
        changes: The changes, in the order in which they were made.
        heads: The number of the latest file of each other device that the writer had seen.
    """

    changes: Sequence[Change]
    heads: Mapping[str, int]


def digest_of(body: bytes) -> str:
    """Return the digest of a file: 16 hexadecimal digits."""
    return sha256(body).hexdigest()[:_DIGEST_CHARS]


def name_of(place: FilePlace, body: bytes) -> str:
    """Return the name of a file at the carrier: ``DEVICE/NUMBER-DIGEST``."""
    return f"{place.device}/{place.number:08}-{digest_of(body)}"


def parse_name(name: str) -> tuple[str, int, str] | None:
    """Return device, number and digest of a file's name; ``None`` for the name of something else."""
    match = _NAME.fullmatch(name)
    return (match["device"], int(match["number"]), match["digest"]) if match else None


def write_file(file: DeviceFile, place: FilePlace, home_key: bytes, device_key: DeviceKey) -> bytes:
    """Return the bytes of a file."""
    head = json.dumps({"heads": dict(sorted(file.heads.items()))})
    lines = "".join(f"{line}\n" for line in (head, *(each.to_json() for each in file.changes)))
    nonce = os.urandom(NONCE_BYTES)
    sealed = AESGCM(home_key).encrypt(nonce, zlib.compress(lines.encode(), 9), place.sealed)
    body = MAGIC + nonce + sealed
    return body + device_key.private.sign(body + place.sealed)


def read_file(body: bytes, place: FilePlace, home_key: bytes, public: bytes) -> DeviceFile:
    """Return what a file holds.

    Args:
        body: The bytes of the file.
        place: Where it stands in the chain of its device.
        home_key: The key of the home.
        public: The public key of the device.

    Raises:
        SyncFileError: The file was not written by this device for this place, or was damaged, or is of a later
            release.
    """
    signed, signature = body[:-SIGNATURE_BYTES], body[-SIGNATURE_BYTES:]
    if not signed.startswith(MAGIC):
        raise SyncFileError(f"{place.device}: file {place.number} is no file of this release")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, signed + place.sealed)
        sealed = signed[len(MAGIC) :]
        packed = AESGCM(home_key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.sealed)
        return _parsed(_unpacked(packed))
    except (InvalidSignature, InvalidTag, ValueError) as error:
        raise SyncFileError(f"{place.device}: file {place.number} is forged or damaged") from error


def _unpacked(packed: bytes) -> str:
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, MOST_BYTES)
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise ValueError("the file is too long or incomplete")
    return text.decode()


def _parsed(text: str) -> DeviceFile:
    head, *lines = text.removesuffix("\n").split("\n")
    heads: Any = json.loads(head)["heads"]
    try:
        changes = [Change.from_json(line) for line in lines]
    except InvalidInputError as error:
        raise ValueError(str(error)) from error
    return DeviceFile(changes=changes, heads={str(device): int(number) for device, number in heads.items()})
