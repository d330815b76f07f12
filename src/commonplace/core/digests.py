"""Short digests of texts, to see whether a text changed without keeping it. Pure."""

from hashlib import blake2b
from typing import Final

_DIGEST_BYTES: Final = 12


def digest_of(text: str) -> str:
    """Return the digest of a text: 24 hexadecimal digits."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
