"""Reading the files of a carrier as who has the keys of the home could, whatever chain they belong to."""

import zlib
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from commonplace.services.sync.device_files import (
    FIRST,
    MAGIC,
    SIGNATURE_BYTES,
    SNAPSHOT,
    FilePlace,
    parse_name,
)
from commonplace.services.sync.home_keys import ID_BYTES, KeyRing
from commonplace.services.sync.keys import NONCE_BYTES


def packed_texts(files: Mapping[str, bytes], ring: KeyRing) -> list[str]:
    """Return the text of each file of a device that a key of the ring opens."""
    digests = {parsed.digest for name in files if (parsed := parse_name(name))}
    by_place = {(each.device, each.number): each.digest for each in filter(None, map(parse_name, files))}
    texts: list[str] = []
    for name, body in files.items():
        parsed = parse_name(name)
        if parsed is None:
            continue
        places = (
            FilePlace(device=parsed.device, number=parsed.number, previous=previous)
            for previous in (
                by_place.get((parsed.device, parsed.number - 1), FIRST),
                SNAPSHOT,
                FIRST,
                *sorted(digests),
            )
        )
        texts += filter(None, [next(filter(None, (_opened(body, place, ring) for place in places)), None)])
    return texts


def _opened(body: bytes, place: FilePlace, ring: KeyRing) -> str | None:
    signed = body[len(MAGIC) : -SIGNATURE_BYTES]
    key = ring.by_id(signed[:ID_BYTES])
    sealed = signed[ID_BYTES:]
    if key is None:
        return None
    try:
        packed = AESGCM(key.key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place.sealed)
    except InvalidTag:
        return None
    return zlib.decompress(packed).decode()
