"""A question to whoever sits at the terminal, asked while other work goes on."""

import asyncio
import os
import select
import sys
import threading
from typing import Final

import typer

POLL_S: Final = 0.1
"""How often a thread that waits for an answer looks whether anybody still wants one."""

_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no", ""})


async def confirmed(question: str) -> bool:
    """Ask on standard error, and tell whether a line of standard input says yes.

    An empty line says no, and so does an end of the input. Anything else is asked about again. Cancelling ends the
    question at once: no thread stays behind that waits for an answer.
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
    """Return a line; ``None`` where the input has ended, or the question was given up."""
    if sys.__stdin__ is None:
        return None
    descriptor = sys.__stdin__.fileno()
    read = bytearray()
    # By single bytes and past Python's buffer: what stands behind this line is for the next question.
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
