"""Decoding of text that other programs wrote.

Every hook waits for this module, so it imports next to nothing.
"""

import codecs

LENIENT = "commonplace.lenient"
"""The name of the error handler of :func:`decode_text`, for streams that decode text."""


def decode_text(data: bytes) -> str:
    """Return the text of UTF-8; bytes that are not UTF-8 are read as Windows-1252, and never replaced.

    A program with another encoding, or a tool that prints a file in one, writes such bytes into a transcript.
    """
    return data.decode("utf-8", LENIENT)


def _read_as_windows(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    # Windows-1252 leaves five bytes undefined.
    return "".join(bytes([each]).decode("cp1252", "ignore") or chr(each) for each in bad), error.end


codecs.register_error(LENIENT, _read_as_windows)
