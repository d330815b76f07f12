"""Parsing of URLs from headers and forms of clients."""

from urllib.parse import SplitResult, urlsplit


def split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL; ``None`` if the text is not a URL, such as ``http://[``."""
    try:
        return urlsplit(text)
    except ValueError:
        return None
