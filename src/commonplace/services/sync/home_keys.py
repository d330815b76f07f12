"""Keys of a home: the first one, and a new one each time that a device is revoked.

A key document brings a new key to every remaining device: the key is sealed to the exchange key of each of them, and
the keys before it are sealed with the new one. The device that revoked signs the document. A device that joins later
opens the document with the new key, which it has from the passphrase.

Source: ADR 0040.
"""

import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from commonplace.core.errors import SyncFileError, SyncReleaseError
from commonplace.services.sync.keys import KEY_BYTES, NONCE_BYTES, DeviceKey

FOLDER: Final = "keys"
ID_BYTES: Final = 8
_FORMAT: Final = 1
_SEALING: Final = b"commonplace home key to device 1"
_EARLIER: Final = b"commonplace earlier home keys 1"
_PUBLIC_BYTES: Final = 32
_NAME: Final = re.compile(rf"{FOLDER}/(?P<epoch>\d{{8}})-(?P<author>[0-9a-f]{{16}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeKey:
    """A key of the home.

    Attributes:
        key: 32 bytes.
        epoch: 0 for the first key, and one more for each later one.
        author: The device that made it; empty for the first key.
        recipients: The devices to which it was sealed; ``None`` as long as its document has not been read.
    """

    key: bytes
    epoch: int = 0
    author: str = ""
    recipients: frozenset[str] | None = None

    @property
    def id(self) -> bytes:
        """The id of the key, which files show: 8 bytes."""
        return sha256(self.key).digest()[:ID_BYTES]

    @property
    def rank(self) -> tuple[int, str]:
        """Tells which of two keys is newer; two of one epoch were made by devices that did not know of each other."""
        return (self.epoch, self.author)


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of the home that this device has."""

    keys: tuple[HomeKey, ...]

    @classmethod
    def of(cls, first: bytes, keys: Iterable[HomeKey]) -> "KeyRing":
        """Return the ring of the key with which this device joined and of those that documents brought."""
        known = tuple(keys)
        if all(each.key != first for each in known):
            known = (HomeKey(key=first), *known)
        return cls(tuple(sorted(known, key=lambda each: each.rank)))

    @property
    def current(self) -> HomeKey:
        """The newest key, with which this device seals."""
        return self.keys[-1]

    def by_id(self, key_id: bytes) -> HomeKey | None:
        """Return the key of an id; ``None`` if this device does not have it."""
        return next((each for each in self.keys if each.id == key_id), None)

    def admits(self, device: str, key_id: bytes) -> bool:
        """Return whether a device that joined with a key was given every later one."""
        first = self.by_id(key_id)
        return all(
            device in each.recipients
            for each in self.keys
            if each.recipients is not None and (first is None or each.rank > first.rank)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyDocument:
    """The document of a new key.

    Attributes:
        epoch: The epoch of the key.
        author: The device that made it.
        key_id: The id of the key.
        revoked: All devices that were revoked until then.
        sealed: The key, sealed to each remaining device.
        earlier: The keys before it, sealed with the key.
    """

    epoch: int
    author: str
    key_id: bytes
    revoked: frozenset[str]
    sealed: Mapping[str, bytes]
    earlier: bytes

    @property
    def name(self) -> str:
        """The name of the document at the carrier."""
        return document_name(HomeKey(key=b"", epoch=self.epoch, author=self.author))

    @property
    def rank(self) -> tuple[int, str]:
        """The rank of the key; see :attr:`HomeKey.rank`."""
        return (self.epoch, self.author)

    def admits(self, device: str) -> bool:
        """Return whether a device gets the key and is not revoked."""
        return device == self.author or (device in self.sealed and device not in self.revoked)

    def opposes(self, other: "KeyDocument") -> bool:
        """Return whether each of two documents refuses the author of the other one."""
        return not self.admits(other.author) and not other.admits(self.author)


def document_name(key: HomeKey) -> str:
    """Return the name of a key's document at the carrier: ``keys/EPOCH-AUTHOR``."""
    return f"{FOLDER}/{key.epoch:08}-{key.author}"


def parse_document_name(name: str) -> tuple[int, str] | None:
    """Return epoch and author of a document; ``None`` for the name of something else."""
    match = _NAME.fullmatch(name)
    return (int(match["epoch"]), match["author"]) if match else None


def write_document(
    key: HomeKey,
    earlier: Sequence[HomeKey],
    recipients: Mapping[str, bytes],
    revoked: Iterable[str],
    device_key: DeviceKey,
) -> bytes:
    """Return the bytes of a key's document.

    Args:
        key: The new key.
        earlier: All keys before it.
        recipients: The public exchange key of each device that gets it.
        revoked: All devices that were revoked.
        device_key: The key of this device.
    """
    nonce = os.urandom(NONCE_BYTES)
    before = json.dumps([[each.epoch, each.author, each.key.hex()] for each in earlier]).encode()
    document = {
        "format": _FORMAT,
        "epoch": key.epoch,
        "author": key.author,
        "key": key.id.hex(),
        "revoked": sorted(revoked),
        "sealed": {device: _text(_seal(key.key, public)) for device, public in sorted(recipients.items())},
        "earlier": _text(nonce + AESGCM(key.key).encrypt(nonce, before, _EARLIER)),
    }
    body = json.dumps(document).encode()
    return json.dumps({"document": _text(body), "signature": _text(device_key.private.sign(body))}).encode()


def read_document(body: bytes, epoch: int, author: str, public: bytes | None) -> KeyDocument:
    """Return the content of a key's document.

    Args:
        body: The bytes of the document.
        epoch: The epoch in its name.
        author: The device in its name.
        public: The public key of that device; ``None`` to read the document before its author is known.

    Raises:
        SyncFileError: The device did not write it, or it was damaged.
        SyncReleaseError: A later release wrote it.
    """
    try:
        outer = json.loads(body)
        signed, signature = _bytes(outer["document"]), _bytes(outer["signature"])
        if public is not None:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, signed)
        values: Any = json.loads(signed)
        if values["format"] != _FORMAT:
            raise SyncReleaseError(f"the key document of {author} was written by a later release")
        document = KeyDocument(
            epoch=int(values["epoch"]),
            author=str(values["author"]),
            key_id=bytes.fromhex(values["key"]),
            revoked=frozenset(map(str, values["revoked"])),
            sealed={str(device): _bytes(sealed) for device, sealed in values["sealed"].items()},
            earlier=_bytes(values["earlier"]),
        )
    except (InvalidSignature, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SyncFileError(f"the key document of {author} is forged or damaged") from error
    if (document.epoch, document.author) != (epoch, author):
        raise SyncFileError(f"the key document of {author} has another name")
    return document


def key_of(document: KeyDocument, ring: KeyRing, device_key: DeviceKey) -> HomeKey | None:
    """Return the key of a document; ``None`` if it was not sealed to this device, which does not have it otherwise.

    Raises:
        SyncFileError: The key cannot be opened.
    """
    known = ring.by_id(document.key_id)
    sealed = document.sealed.get(device_key.device)
    if known is None and sealed is None:
        return None
    key = HomeKey(
        key=known.key if known else _opened(sealed or b"", device_key),
        epoch=document.epoch,
        author=document.author,
        recipients=frozenset({*document.sealed, document.author}),
    )
    if key.id != document.key_id:
        raise SyncFileError(f"the key document of {document.author} holds another key")
    return key


def earlier_keys(document: KeyDocument, key: HomeKey) -> list[HomeKey]:
    """Return the keys before a key, from its document.

    Raises:
        SyncFileError: They cannot be opened.
    """
    nonce, sealed = document.earlier[:NONCE_BYTES], document.earlier[NONCE_BYTES:]
    try:
        rows = json.loads(AESGCM(key.key).decrypt(nonce, sealed, _EARLIER))
        return [
            HomeKey(key=bytes.fromhex(raw), epoch=int(epoch), author=str(author))
            for epoch, author, raw in rows
        ]
    except (InvalidTag, ValueError, TypeError) as error:
        raise SyncFileError(f"the key document of {document.author} is forged or damaged") from error


def _seal(key: bytes, public: bytes) -> bytes:
    """Seal a key to a device, with a key pair that is used once."""
    once = X25519PrivateKey.generate()
    public_once = once.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    secret = once.exchange(X25519PublicKey.from_public_bytes(public))
    nonce = os.urandom(NONCE_BYTES)
    return public_once + nonce + AESGCM(_derived(secret, public_once + public)).encrypt(nonce, key, None)


def _opened(sealed: bytes, device_key: DeviceKey) -> bytes:
    public_once, rest = sealed[:_PUBLIC_BYTES], sealed[_PUBLIC_BYTES:]
    try:
        secret = device_key.exchange.exchange(X25519PublicKey.from_public_bytes(public_once))
        derived = _derived(secret, public_once + device_key.exchange_public)
        return AESGCM(derived).decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], None)
    except (InvalidTag, ValueError) as error:
        raise SyncFileError("the new key of the home cannot be opened") from error


def _derived(secret: bytes, salt: bytes) -> bytes:
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=_SEALING).derive(secret)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    return b64decode(text, validate=True)
