"""Make a virtual environment with pip, also if Debian's python3 has neither ensurepip nor pip.

Debian ships both in separate packages, ``python3-venv`` and ``python3-pip``. If they are missing, the script fetches
the package with pip's wheel by apt, into a temporary directory and with package lists of its own. It changes nothing
on the system and needs no root.

Usage: python3 scripts/bootstrap.py DIRECTORY
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PACKAGE = "python3-pip-whl"


def main() -> None:
    """Make the environment, or keep a working one."""
    directory = Path(sys.argv[1]).absolute()
    python = directory / "bin" / "python"
    if python.exists() and _works(python):
        return
    has_ensurepip = importlib.util.find_spec("ensurepip") is not None
    venv.create(directory, with_pip=has_ensurepip, symlinks=True, clear=directory.exists())
    if not has_ensurepip:
        with tempfile.TemporaryDirectory() as scratch:
            wheel = _wheel_from_debian(Path(scratch))
            environment = os.environ | {"PYTHONPATH": str(wheel)}
            _run([str(python), "-m", "pip", "install", "-q", "--no-index", str(wheel)], env=environment)


def _works(python: Path) -> bool:
    return (
        subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    )


def _wheel_from_debian(scratch: Path) -> Path:
    """Extract pip's wheel from Debian's package without installing the package."""
    lists = scratch / "lists"
    (lists / "partial").mkdir(parents=True)
    own_state = [
        "-o",
        f"Dir::State::Lists={lists}",
        "-o",
        f"Dir::Cache={scratch}",
        "-o",
        "APT::Sandbox::User=",
    ]
    print("pip is not installed: fetching it with apt, into .venv only", file=sys.stderr)
    _run(["apt-get", *own_state, "-qq", "update"])
    _run(["apt-get", *own_state, "-qq", "download", PACKAGE], cwd=scratch)
    _run(["dpkg-deb", "-x", str(next(scratch.glob("*.deb"))), str(scratch / "package")])
    return next((scratch / "package").rglob("pip-*.whl"))


def _run(command: list[str], **options: object) -> None:
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"cannot set up pip ({error}): run 'apt-get install python3-venv' as root, then make again")


if __name__ == "__main__":
    main()
