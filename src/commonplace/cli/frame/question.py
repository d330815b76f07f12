"""A question at the terminal that does not block other work."""

import asyncio
import os
import select
import sys
import threading
from typing import Final

import typer

POLL_S: Final = 0.1
"""The interval at which the thread checks whether the question was cancelled."""

_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no", ""})


async def confirmed(question: str) -> bool:
    """Ask a question on standard error and return whether a line of standard input says yes.

    An empty line and the end of the input mean no. Any other answer repeats the question. Cancelling ends the question
    and its thread at once.
    """
    given_up = threading.Event()
    try:
        return await asyncio.to_thread(_ask, question, given_up)
    finally:
        given_up.set()


def _ask(question: str, given_up: threading.Event) -> bool:
    while True:
        typer.echo(f"{question} [y/N]: ", nl=False, err=True)
        line = _read_line(given_up)
        if line is None:
            if not given_up.is_set():
                typer.echo("no answer", err=True)
            return False
        said = line.strip().lower()
        if said in _YES | _NO:
            return said in _YES
        typer.echo("Answer y or n.", err=True)


def _read_line(given_up: threading.Event) -> str | None:
    """Return a line; ``None`` at the end of the input, or if the question was cancelled."""
    if sys.__stdin__ is None:
        return None
    descriptor = sys.__stdin__.fileno()
    read = bytearray()
    # Read single bytes without Python's buffer, because the next line belongs to the next question.
    while not read.endswith(b"\n"):
        ready, _, _ = select.select([descriptor], [], [], POLL_S)
        if given_up.is_set():
            return None
        if ready:
            byte = os.read(descriptor, 1)
            if not byte:
                break
            read += byte
    return read.decode(errors="replace") if read else None
