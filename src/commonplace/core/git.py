"""Questions to Git about a repository whose settings somebody else may have written."""

import os
import subprocess
from typing import Final

_SETTINGS: Final = (
    *("-c", "log.showSignature=false"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
)
_NO_REMOTE: Final = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


def ask_git(*arguments: str, timeout_s: float) -> str:
    """Return what a command of Git prints; an empty text if Git fails, is not installed or takes too long.

    The settings of a repository may name programs: to check signatures, to watch files, or to fetch objects that a
    clone left out. None of them runs.
    """
    try:
        done = subprocess.run(  # noqa: S603 - no shell
            ["git", *_SETTINGS, *arguments],  # noqa: S607 - the user's git
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **_NO_REMOTE},
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return done.stdout if done.returncode == 0 else ""
