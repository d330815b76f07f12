"""URLs without their passwords, for messages and logs."""

import re

_CREDENTIALS = re.compile(r"^([\w+.-]+://[^:@/?]*):.*@", re.DOTALL)
_LOGIN = re.compile(r"(https?://)[^/?#\s'\"]*@", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(r"(password=)[^&\s]*", re.IGNORECASE)


def mask_url(url: str) -> str:
    """Return a URL with ``***`` in place of each password.

    A password with an ``@``, ``/`` or ``:`` that should have been percent-encoded is masked as a whole too.
    """
    return _SECRET_PARAMETER.sub(r"\1***", _CREDENTIALS.sub(r"\1:***@", url))


def without_logins(text: str) -> str:
    """Return text whose URLs of HTTP have no user and no password, because a token may be either."""
    return _LOGIN.sub(r"\1", text)
