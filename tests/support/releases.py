"""Releases of commonplace, each installed into an environment of its own beside the one of the tests.

A release of the past is the fixture that ``make release`` keeps. The next release is today's code with one more
revision of each schema. All of them use the dependencies of the tests.
"""

import csv
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from venv import EnvBuilder

from commonplace.storage.migrations.runner import HEADS, Branch
from support.commands import Done, clean_environment
from support.deadlines import DEADLINE_S

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "commonplace"
WHEELS = ROOT / "tests" / "data" / "releases"
OLDEST = "0.1.0"
NEXT = "99.0.0"

ALONE = {"PYTHONPATH": ""}
"""Keeps a release from finding today's code where the tests find it."""

PROGRAM = """#!{python}
import sys
from commonplace.cli.start import main
sys.exit(main())
"""

TABLES: dict[Branch, tuple[str, ...]] = {
    "operational": ("memories", "sessions", "reviews"),
    "apps": ("apps", "app_memories"),
    "access": ("access_tokens",),
    "memory": ("facts", "rules", "episodes", "entities"),
}
"""The tables that get a column in the next release."""

REVISION = '''"""One more column."""

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in {tables}:
        op.add_column(table, sa.Column("of_next_release", sa.Text, nullable=False, server_default="new"))
'''


@dataclass(frozen=True)
class Installation:
    """An environment with one release, which another release can replace."""

    directory: Path

    @property
    def program(self) -> Path:
        """The command."""
        return self.directory / "bin" / "commonplace"

    @cached_property
    def packages(self) -> Path:
        """The directory that the release is installed into."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.directory)}))

    def run(
        self, home: Path, *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] = ALONE
    ) -> Done:
        """Run a command in a home, whose workspace is beside it; the command may fail."""
        done = subprocess.run(
            [self.program, *arguments],
            cwd=workspace_of(home),
            env=clean_environment(home, **{**ALONE, **variables}),
            input=stdin,
            capture_output=True,
            timeout=9 * DEADLINE_S,
            check=False,
        )
        return Done(status=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    def do(self, home: Path, *arguments: str, variables: Mapping[str, str] = ALONE) -> Done:
        """Run a command that succeeds."""
        done = self.run(home, *arguments, variables=variables)
        assert done.status == 0, done.err
        return done

    def replace(self, release: Path) -> None:
        """Install a release in the place of this one; processes that run keep what they have imported."""
        for former in self.packages.glob("commonplace*"):
            former.unlink() if former.is_symlink() else shutil.rmtree(former)
        shutil.copytree(release, self.packages, symlinks=True, dirs_exist_ok=True)


def workspace_of(home: Path) -> Path:
    """Return the workspace of a home, which is made."""
    workspace = home.with_name("workspace")
    workspace.mkdir(exist_ok=True)
    return workspace


def install(directory: Path, release: Path) -> Installation:
    """Make an environment with a release."""
    EnvBuilder(symlinks=True).create(directory)
    installation = Installation(directory)
    # Other .pth files of that directory are not read, so today's commonplace is not found through it.
    (installation.packages / "tests.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    installation.program.write_text(PROGRAM.format(python=directory / "bin" / Path(sys.executable).name))
    installation.program.chmod(0o755)
    installation.replace(release)
    return installation


def unpack(version: str, directory: Path) -> Path:
    """Unpack the fixture of a release, with the large files that it leaves out if they are still the same."""
    with zipfile.ZipFile(WHEELS / f"commonplace-{version}-py3-none-any.whl") as wheel:
        wheel.extractall(directory)
    for name, digest in recorded(directory, version):
        today = ROOT / "src" / name
        if not (directory / name).exists() and today.is_file() and digest_of(today) == digest:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).symlink_to(today)
    return directory


def recorded(directory: Path, version: str) -> Iterator[tuple[str, str]]:
    """Yield the files that the RECORD of a release names, with their digests."""
    lines = (
        (directory / f"commonplace-{version}.dist-info" / "RECORD").read_text(encoding="utf-8").splitlines()
    )
    yield from ((name, digest) for name, digest, _ in csv.reader(lines) if digest)


def digest_of(path: Path) -> str:
    """Return the digest of a file as RECORD has it."""
    return f"sha256={urlsafe_b64encode(sha256(path.read_bytes()).digest()).decode().rstrip('=')}"


def today(directory: Path) -> Path:
    """Make a release of today's code."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    _with_metadata(directory, version)
    (directory / "commonplace").symlink_to(SOURCE)
    return directory


def next_heads() -> dict[Branch, str]:
    """Return the revisions of the next release."""
    return {branch: f"{head[:4]}{int(head[4:]) + 1:03}" for branch, head in HEADS.items()}


def next_release(directory: Path) -> Path:
    """Make a release of today's code with one more revision of each schema, which adds a column."""
    _with_metadata(directory, NEXT)
    package = directory / "commonplace"
    shutil.copytree(SOURCE, package, copy_function=_link, ignore=shutil.ignore_patterns("__pycache__"))
    migrations = package / "storage" / "migrations"
    runner = migrations / "runner.py"
    text = runner.read_text(encoding="utf-8")
    for branch, head in HEADS.items():
        revision = next_heads()[branch]
        text = text.replace(f'"{head}"', f'"{revision}"')
        script = REVISION.format(revision=revision, head=head, tables=TABLES[branch])
        (migrations / "versions" / branch / f"{revision}_next.py").write_text(script, encoding="utf-8")
    runner.unlink()
    runner.write_text(text, encoding="utf-8")
    return directory


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def _with_metadata(directory: Path, version: str) -> None:
    information = directory / f"commonplace-{version}.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(f"Metadata-Version: 2.4\nName: commonplace\nVersion: {version}\n")
