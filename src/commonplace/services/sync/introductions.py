"""Introductions: the file with which a device tells the others its name and its public keys.

It is sealed with the key of the home, so only who has that can join, and signed by the device, so nobody can put
another exchange key in the place of its own.

Source: ADR 0040.
"""

import json
import os
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from commonplace.core.errors import SyncFileError, SyncKeyError
from commonplace.services.sync.home_keys import ID_BYTES, HomeKey, KeyRing
from commonplace.services.sync.keys import NONCE_BYTES, DeviceKey, device_of
from commonplace.services.sync.known_devices import KnownDevice

FOLDER: Final = "devices"


def introduction_name(device: str) -> str:
    """Return the name of a device's introduction at the carrier."""
    return f"{FOLDER}/{device}"


def write_introduction(name: str, home_key: HomeKey, device_key: DeviceKey) -> bytes:
    """Return the bytes of a device's introduction."""
    document = {"name": name, "public": device_key.public.hex(), "exchange": device_key.exchange_public.hex()}
    signature = device_key.private.sign(_signed(name, device_key.exchange_public))
    text = json.dumps({**document, "signature": signature.hex()}).encode()
    nonce = os.urandom(NONCE_BYTES)
    return home_key.id + nonce + AESGCM(home_key.key).encrypt(nonce, text, device_key.device.encode())


def read_introduction(device: str, body: bytes, ring: KeyRing) -> KnownDevice:
    """Return the device of an introduction.

    Raises:
        SyncFileError: Another device wrote it, or it was damaged.
        SyncKeyError: It is sealed with a key that is not in the ring.
    """
    home_key = ring.by_id(body[:ID_BYTES])
    if home_key is None:
        raise SyncKeyError(
            f"the device {device} has a key of the home that has not arrived yet; if it began a home of its own here, "
            "run `commonplace sync leave --here` on it, and join"
        )
    sealed = body[ID_BYTES:]
    try:
        text = AESGCM(home_key.key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], device.encode())
        values: Any = json.loads(text)
        name, public = str(values["name"]), bytes.fromhex(values["public"])
        exchange, signature = bytes.fromhex(values["exchange"]), bytes.fromhex(values["signature"])
        Ed25519PublicKey.from_public_bytes(public).verify(signature, _signed(name, exchange))
    except (InvalidSignature, InvalidTag, ValueError, KeyError, TypeError) as error:
        raise SyncFileError(f"the introduction of {device} is forged or damaged") from error
    if device_of(public) != device:
        raise SyncFileError(f"the introduction of {device} is that of another device")
    return KnownDevice(device=device, name=name, public=public, exchange=exchange, key_id=home_key.id)


def _signed(name: str, exchange: bytes) -> bytes:
    return json.dumps(["commonplace device 1", name, exchange.hex()]).encode()
