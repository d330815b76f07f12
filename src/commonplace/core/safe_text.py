"""Texts that callers pass and that memories store: cleaned, and without secrets."""

from commonplace.core.errors import SecretRefusedError
from commonplace.core.secrets import find_secret
from commonplace.core.text import require_text


def require_safe_text(value: object, *, field: str, max_chars: int, allow_secrets: bool) -> str:
    """Return a cleaned text.

    Raises:
        InvalidInputError: The value is not a text, is empty, or is too long.
        SecretRefusedError: The text looks like a secret, and the operator did not allow secrets.
    """
    text = require_text(value, field=field, max_chars=max_chars)
    refuse_secret(text, field=field, allow_secrets=allow_secrets)
    return text


def refuse_secret(text: str, *, field: str, allow_secrets: bool) -> None:
    """Refuse a text that looks like a secret, unless the operator allowed secrets.

    Raises:
        SecretRefusedError: The text looks like a secret.
    """
    if not allow_secrets and (secret := find_secret(text)):
        raise SecretRefusedError(field, secret.kind)
