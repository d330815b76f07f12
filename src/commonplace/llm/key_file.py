"""The file that holds the key of a model."""

import logging
import stat
from pathlib import Path

from commonplace.core.errors import SettingsError

_log = logging.getLogger(__name__)
_VARIABLE = "COMMONPLACE_MODEL_API_KEY_FILE"


def read_key(path: Path) -> str:
    """Return the key in a file, and log a warning if other users can read the file.

    Raises:
        SettingsError: The file is missing, unreadable or empty, or holds more than one word of ASCII.
    """
    try:
        key = path.read_bytes().decode("ascii").strip()
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise SettingsError(f"{_VARIABLE}: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        key, mode = " ", 0
    if not key:
        raise SettingsError(f"{_VARIABLE}: expected a key in {path}, but the file is empty")
    if not key.isprintable() or " " in key:
        raise SettingsError(f"{_VARIABLE}: expected one key in {path}, without spaces or further lines")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        _log.warning("other users can read the key in %s: run `chmod 600 %s`", path, path)
    return key
