"""URLs that clients name in headers and forms, where anything may stand."""

from urllib.parse import SplitResult, urlsplit


def split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL; ``None`` for what is none, such as ``http://[``."""
    try:
        return urlsplit(text)
    except ValueError:
        return None
