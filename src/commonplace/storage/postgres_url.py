"""Descriptions of PostgreSQL URLs without their passwords."""

from urllib.parse import parse_qs, unquote, urlsplit, urlunsplit

from commonplace.core.errors import SettingsError


def mask_password(text: str, url: str) -> str:
    """Return a text, such as a driver's error message, with ``***`` in place of a URL's password."""
    password = urlsplit(url).password
    return text.replace(unquote(password), "***").replace(password, "***") if password else text


def without_password(url: str) -> tuple[str, str | None]:
    """Return a URL without its password, and the password: arguments of a program can be read by other users."""
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
    credentials, _, address = parts.netloc.rpartition("@")
    at_signs_elsewhere = "@" in credentials or "@" in parts.path or ("@" in parts.query and not credentials)
    if parts.scheme not in {"postgresql", "postgres"} or at_signs_elsewhere or parts.fragment:
        raise _malformed()
    host = parse_qs(parts.query).get("host", [address])[-1]
    database = unquote(parts.path.lstrip("/"))
    return (
        f"{f'database {database!r}' if database else 'the default database'} at {host or 'the default host'}"
    )


def _malformed() -> SettingsError:
    return SettingsError(
        "not a PostgreSQL URL: expected postgresql://user:password@host:port/database, with characters such as "
        "@ : / ? # in the password percent-encoded (@ is %40)"
    )
