"""A terminal for programs that talk to a person."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import tty
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from support.deadlines import DEADLINE_S
from support.postgres import wait_until

LINES, COLUMNS = 50, 200
ENTER = "\r"

_RIGHT = re.compile(r"\x1b\[\d*C")
"""A move of the cursor to the right, by which programs skip blanks."""

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|\x1b[=>78]")


class Terminal:
    """A program in a terminal of its own, inside ``with``; at the end of the block, it is killed."""

    def __init__(self, command: Sequence[str], *, directory: Path, environment: Mapping[str, str]) -> None:
        self._control, terminal = pty.openpty()
        # Without echo by the kernel, text on the screen is text that the program has read.
        tty.setraw(terminal)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env={**environment, "TERM": "xterm-256color"},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        )
        os.close(terminal)
        self._output = b""
        self._reader = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(DEADLINE_S)
        os.close(self._control)

    def text(self, since: int = 0) -> str:
        """Return the text that the program wrote, without colours and moves of the cursor."""
        output = self._output[since:].decode(errors="replace")
        return _ESCAPES.sub("", _RIGHT.sub(" ", output))

    def enter(self, line: str) -> None:
        """Type a line; press Enter once its last word is shown, because a program may take both at once for a paste."""
        since = len(self._output)
        os.write(self._control, line.encode())
        wait_until(lambda: line.rsplit(maxsplit=1)[-1] in self.text(since), what=f"{line!r} on the screen")
        os.write(self._control, ENTER.encode())

    def _read(self) -> None:
        """Read until no process has the terminal any more."""
        while True:
            try:
                output = os.read(self._control, 1 << 16)
            except OSError:
                return
            self._output += output
