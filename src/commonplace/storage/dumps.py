"""Dumps of PostgreSQL databases in the custom format of ``pg_dump``, and the programs that write and load them."""

import os
import subprocess
from pathlib import Path
from typing import Final

from commonplace.core.errors import StorageError
from commonplace.storage.postgres_binaries import bundled_programs
from commonplace.storage.postgres_url import describe_url, without_password

PROGRAM_TIMEOUT_S: Final = 6 * 3600.0
"""The time limit of one dump or load."""

_LEFT_OUT: Final = (
    " EXTENSION - ",
    " COMMENT - EXTENSION ",
    " SCHEMA - public ",
    " COMMENT - SCHEMA public ",
)
"""Entries of a dump that already exist on the server."""


def contents(dump: Path) -> str:
    """Return the list of entries of a dump.

    Raises:
        StorageError: The file is not a dump.
    """
    return run_program("pg_restore", None, "--list", str(dump))


def load(url: str, dump: Path, *options: str) -> None:
    """Load a dump into a database with pgvector, in one transaction.

    A list of the entries of the dump is written beside it. ``options`` are further options of ``pg_restore``.

    Raises:
        StorageError: The dump cannot be read, or the server refuses a statement.
    """
    chosen = dump.with_suffix(".list")
    lines = contents(dump).splitlines()
    chosen.write_text("\n".join(line for line in lines if not any(part in line for part in _LEFT_OUT)))
    run_program(
        "pg_restore",
        url,
        *("--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges"),
        *(f"--use-list={chosen}", *options, str(dump)),
    )


def run_program(name: str, url: str | None, *options: str, timeout_s: float = PROGRAM_TIMEOUT_S) -> str:
    """Run one of PostgreSQL's programs, with or without a database, and return its output.

    Raises:
        StorageError: The program failed or took too long. No message contains the password.
    """
    plain, password = (None, None) if url is None else without_password(url)
    try:
        outcome = subprocess.run(  # noqa: S603 - PostgreSQL's own program, arguments in a list, no shell
            [bundled_programs() / name, *(["--dbname", plain] if plain else []), *options],
            check=False,
            capture_output=True,
            text=True,
            env={"PATH": os.defpath, "LC_ALL": "C"} | ({"PGPASSWORD": password} if password else {}),
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        raise StorageError(f"{name} did not end within {timeout_s:g} s") from None
    if outcome.returncode == 0:
        return outcome.stdout
    reason = outcome.stderr.strip()
    if "row-level security" in reason:
        reason = (
            "the role of the URL cannot read the rows of all tenants: for this command, set COMMONPLACE_POSTGRES_URL, "
            "or COMMONPLACE_POSTGRES_OWNER_URL if it is set, to the URL of a "
            f"superuser or a role with BYPASSRLS ({reason.splitlines()[0]})"
        )
    raise StorageError(f"{name} failed{f' for {describe_url(url)}' if url else ''}: {reason}")
