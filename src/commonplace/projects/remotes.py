"""The URL of a remote in one form, so that a repository has the same URL on every device. Pure.

``https://github.com/a/b.git``, ``git@github.com:a/b`` and ``ssh://git@github.com/a/b`` are ``//github.com/a/b``:
without scheme, user, password, default port and ``.git``, and with the host in lower case.
"""

import re
from typing import Final

from commonplace.core.urls import mask_url

_URL: Final = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*):)?//(?P<authority>[^/]+)/(?P<path>[^?#]+)", re.IGNORECASE
)
_SCP: Final = re.compile(r"(?P<authority>(?:[^/:]*@)?(?:\[[^]]+]|[^/:@[\]]{2,})):(?P<path>(?!//)[^?#]+)")
"""The short form of SSH. A host of one letter would be a drive of Windows."""

_DEFAULT_PORTS: Final = {"git": "9418", "http": "80", "https": "443", "ssh": "22"}
_OWN_HOST: Final = re.compile(r"(localhost|127\.[\d.]+|\[::1])(:\d+)?")


def canonical_url(url: str) -> str:
    """Return the URL of a remote in one form; the path of a local repository stays as it is."""
    parts = _host_and_path(url)
    return url if parts is None else "//{}/{}".format(*parts)


def shared_url(url: str) -> str | None:
    """Return the URL of a remote as other devices may know it.

    It never has a user, a password or a token. ``None`` if only this device can reach the remote, or if a secret may be
    left in its URL.
    """
    parts = _host_and_path(url)
    if parts is None or _OWN_HOST.fullmatch(parts[0]) or any("@" in part for part in parts):
        return None
    return "//{}/{}".format(*parts)


def are_two_of_one_host(url: str, other: str) -> bool:
    """Return whether two URLs are those of two repositories on one host, such as a fork and its origin."""
    one, two = _host_and_path(url), _host_and_path(other)
    return one is not None and two is not None and one[0] == two[0] and one[1] != two[1]


def _host_and_path(url: str) -> tuple[str, str] | None:
    """Return host and path of a remote; ``None`` for a local path, and for a URL with a query."""
    masked = mask_url(url.strip())
    match = _URL.fullmatch(masked) or _SCP.fullmatch(masked)
    if match is None:
        return None
    scheme = match.groupdict().get("scheme") or ""
    host = match["authority"].rpartition("@")[2].lower()
    host = host.removesuffix(f":{_DEFAULT_PORTS.get(scheme.lower(), '')}")
    path = match["path"].strip("/").removesuffix(".git").rstrip("/")
    return (host, path) if host and path else None
