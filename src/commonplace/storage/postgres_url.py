"""PostgreSQL URLs: descriptions without passwords, and the parameter that marks a pooler.

``pgbouncer=true`` at the end of a URL means that it points to PgBouncer, or to another pooler that lends a server
connection per transaction. Nothing may then depend on a session: see ADR 0012.
"""

from typing import Final
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from commonplace.core.errors import SettingsError
from commonplace.core.quoting import quoted

_POOLER: Final = "pgbouncer"
_SEVERAL_HOSTS: Final = ","


def is_pooled(url: str) -> bool:
    """Return whether a URL points to a pooler."""
    return dict(parse_qsl(urlsplit(url).query)).get(_POOLER) == "true"


def server_url(url: str) -> str:
    """Return a URL for drivers: without our parameter, and with several hosts, for their primary."""
    parts = urlsplit(url)
    given = parse_qsl(parts.query, keep_blank_values=True)
    kept = [(name, value) for name, value in given if name != _POOLER]
    address = parts.netloc.rpartition("@")[2]
    if _SEVERAL_HOSTS in address and "target_session_attrs" not in dict(kept):
        kept.append(("target_session_attrs", "read-write"))
    return (
        url if kept == given else urlunsplit(parts._replace(query=urlencode(kept, quote_via=quote, safe="/")))
    )


def urls_of_hosts(url: str) -> list[str]:
    """Return a URL for each host of a URL."""
    parts = urlsplit(url)
    credentials, at, address = parts.netloc.rpartition("@")
    return [
        urlunsplit(parts._replace(netloc=f"{credentials}{at}{host}"))
        for host in address.split(_SEVERAL_HOSTS)
    ]


def require_direct(url: str, work: str) -> None:
    """Require that a URL points to the server itself.

    ``work`` names what needs the server, for the message.

    Raises:
        SettingsError: The URL points to a pooler.
    """
    if is_pooled(url):
        raise SettingsError(
            f"{work} needs a server session, but {describe_url(url)} is a pooler: for this command, set the URL of "
            "the server itself"
        )


def mask_password(text: str, url: str) -> str:
    """Return a text, such as a driver's error message, with ``***`` in place of a URL's password."""
    password = urlsplit(url).password
    return text.replace(unquote(password), "***").replace(password, "***") if password else text


def without_password(url: str) -> tuple[str, str | None]:
    """Return a URL without its password, and the password, because other users can read program arguments."""
    parts = urlsplit(url)
    if parts.password is None:
        return url, None
    user, _, address = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{address}")), unquote(parts.password)


def describe_url(url: str) -> str:
    """Return the host and database of a URL in words, without credentials.

    Raises:
        SettingsError: The text is not a PostgreSQL URL. The message does not repeat it, because the password may be
            anywhere in a malformed URL.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _malformed() from None
    credentials = parts.netloc.rpartition("@")[0]
    at_signs_elsewhere = "@" in credentials or "@" in parts.path or ("@" in parts.query and not credentials)
    if parts.scheme not in {"postgresql", "postgres"} or at_signs_elsewhere or parts.fragment:
        raise _malformed()
    database = unquote(parts.path.lstrip("/"))
    return f"{f'database {quoted(database)}' if database else 'the default database'} at {host_of(url)}"


def host_of(url: str) -> str:
    """Return the host and port of a URL, or the directory of its socket."""
    parts = urlsplit(url)
    address = parts.netloc.rpartition("@")[2]
    return parse_qs(parts.query).get("host", [address])[-1] or "the default host"


def _malformed() -> SettingsError:
    return SettingsError(
        "not a PostgreSQL URL: expected postgresql://user:password@host:port/database, with characters such as "
        "@ : / ? # in the password percent-encoded (@ is %40)"
    )
