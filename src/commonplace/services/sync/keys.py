"""Keys of sync: the key of a home, which a passphrase opens, and the key with which a device signs.

Source: ADR 0040.
"""

import json
import os
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from commonplace.core.errors import InvalidInputError, SyncFileError

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
SALT_BYTES: Final = 16
LEAST_PASSPHRASE_CHARS: Final = 12

SCRYPT_COST: Final = 2**17
"""The cost of one guess at a passphrase: 128 MB, and about half a second."""

_SCRYPT_BLOCK: Final = 8
_SCRYPT_LANES: Final = 1
_DEVICE_CHARS: Final = 16
_WRAPPING: Final = b"commonplace home key 1"
_EXCHANGE: Final = b"commonplace exchange key 1"


@dataclass(frozen=True, slots=True)
class DeviceKey:
    """The key of a device; its id is a digest of the public half, so nobody can choose the id of another device."""

    private: Ed25519PrivateKey

    @classmethod
    def new(cls) -> Self:
        """Return a new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """Return the key of 32 bytes."""
        return cls(Ed25519PrivateKey.from_private_bytes(raw))

    @property
    def raw(self) -> bytes:
        """The private half: 32 bytes."""
        return self.private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())

    @property
    def public(self) -> bytes:
        """The public half: 32 bytes."""
        return self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def exchange(self) -> X25519PrivateKey:
        """The key with which this device opens what is sealed to it; it follows from the private half."""
        kdf = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=_EXCHANGE)
        return X25519PrivateKey.from_private_bytes(kdf.derive(self.raw))

    @property
    def exchange_public(self) -> bytes:
        """The public half of the exchange key: 32 bytes."""
        return self.exchange.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @property
    def device(self) -> str:
        """The id of the device: 16 hexadecimal digits."""
        return device_of(self.public)


def device_of(public: bytes) -> str:
    """Return the id of the device with a public key."""
    return sha256(public).hexdigest()[:_DEVICE_CHARS]


def new_home_key() -> bytes:
    """Return a new key of a home: 32 random bytes."""
    return AESGCM.generate_key(bit_length=8 * KEY_BYTES)


def require_passphrase(passphrase: str) -> None:
    """Refuse a passphrase that a thief could guess.

    Raises:
        InvalidInputError: It has fewer than 12 characters.
    """
    if len(passphrase) < LEAST_PASSPHRASE_CHARS:
        form = f"at least {LEAST_PASSPHRASE_CHARS} characters, such as four words"
        raise InvalidInputError("passphrase", form, f"{len(passphrase)} characters")


def wrapped(home_key: bytes, passphrase: str) -> bytes:
    """Return the key of a home as a JSON document that the passphrase opens.

    Raises:
        InvalidInputError: The passphrase has fewer than 12 characters.
    """
    require_passphrase(passphrase)
    salt, nonce = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES)
    sealed = AESGCM(_derived(passphrase, salt)).encrypt(nonce, home_key, _WRAPPING)
    document = {"format": 1, "scrypt": SCRYPT_COST, "salt": _text(salt), "key": _text(nonce + sealed)}
    return json.dumps(document).encode()


def unwrapped(document: bytes, passphrase: str) -> bytes:
    """Return the key of a home from its document.

    Raises:
        SyncFileError: This is no such document, or one of a later release.
        InvalidInputError: The passphrase is another one.
    """
    try:
        values = json.loads(document)
        salt, sealed = b64decode(values["salt"], validate=True), b64decode(values["key"], validate=True)
        is_known = (values["format"], values["scrypt"]) == (1, SCRYPT_COST)
    except (ValueError, KeyError, TypeError) as error:
        raise SyncFileError("the key of the home at the target cannot be read") from error
    if not is_known:
        raise SyncFileError("the key of the home at the target is of a later release: update commonplace")
    try:
        return AESGCM(_derived(passphrase, salt)).decrypt(
            sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _WRAPPING
        )
    except InvalidTag as error:
        raise InvalidInputError("passphrase", "the passphrase of this home", "another one") from error


def _derived(passphrase: str, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=KEY_BYTES, n=SCRYPT_COST, r=_SCRYPT_BLOCK, p=_SCRYPT_LANES).derive(
        passphrase.encode()
    )


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()
