r"""Text that the command line writes and takes, in any encoding, without errors and without losses.

A terminal or a pipe may have an encoding that lacks a character. Quotes and dashes of typography are then written with
plain signs, and any other character as an escape such as ``\u2615``.
"""

import codecs
import os
import sys
from io import TextIOWrapper
from typing import BinaryIO, Final, cast

PLAIN: Final = "commonplace.plain"
"""The name of the error handler for output."""

_SIGNS: Final = str.maketrans(
    {
        **dict.fromkeys("‘’‚‹›", "'"),  # noqa: RUF001 - the signs themselves
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‐‑‒–—−", "-"),  # noqa: RUF001 - the signs themselves
        "…": "...",
        "→": "->",
        "·": "-",
        "•": "*",
        "✓": "ok",
    }
)


def prepare_streams() -> None:
    """Make the standard streams write every text."""
    for name in ("stdout", "stderr"):
        stream: object = getattr(sys, name)
        if isinstance(stream, TextIOWrapper):
            setattr(sys, name, _prepared(cast("TextIOWrapper[BinaryIO]", stream)))


def _prepared(stream: "TextIOWrapper[BinaryIO]") -> "TextIOWrapper[BinaryIO]":
    try:
        stream.reconfigure(errors=PLAIN)
    except (
        OSError
    ):  # In a fork that writes to the pipe of a caller, a stream may still believe that it can be rewound.
        return open(stream.fileno(), "w", encoding=stream.encoding, errors=PLAIN, closefd=False)  # pyright: ignore[reportReturnType]
    return stream


def decoded_argument(text: str) -> str | None:
    """Return an argument of the command line; ``None`` if its bytes are no text.

    Python keeps bytes that are not in the encoding of the system as lone surrogates. They may be UTF-8.
    """
    if not any("\udc80" <= each <= "\udcff" for each in text):
        return text
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        return None


def _with_plain_signs(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_SIGNS)
    return text.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(PLAIN, _with_plain_signs)
