"""Build an sdist and a wheel from it, install the wheel into a new environment, and use it outside of the checkout.

Usage: python scripts/try_wheel.py [PYTHON…]; without an argument, this Python. The files are in ``dist/`` afterwards.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
DIST = CHECKOUT / "dist"
USES = (
    ("demo",),
    ("knowledge", "store-fact", "staging", "port", "Staging listens on 5433."),
    ("knowledge", "recall", "which port has staging?"),
    ("doctor",),
)
SCRIPTS = (
    "from commonplace.web.pages.layout import assets; assert assets.is_complete(), 'scripts are missing'"
)
REMOVE = (
    "import sys; from pathlib import Path; from commonplace.storage.embedded import remove_cluster; "
    "remove_cluster(Path(sys.argv[1]))"
)
NO_TORCH = "import importlib.util as u; assert u.find_spec('torch') is None, 'torch was installed'"


def main() -> None:
    """Build, install and use; exit with a message at the first failure."""
    wheel, _ = build()
    for python in sys.argv[1:] or [sys.executable]:
        with tempfile.TemporaryDirectory(prefix="commonplace-wheel-") as name:
            use(wheel, python, Path(name))
        print(f"{wheel.name} works with {python}")


def build() -> tuple[Path, Path]:
    """Build into an empty ``dist/``, and return the wheel and the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="commonplace-build-") as name:
        tools = _environment(Path(name) / "tools", sys.executable)
        _run([tools, "-m", "pip", "install", "-q", "build"])
        _run([tools, "-m", "build", "--outdir", str(DIST), str(CHECKOUT)])
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def use(wheel: Path, python: str, directory: Path) -> str:
    """Install a wheel into a new environment in a directory, use it outside of the checkout, and return its Python."""
    installed = _environment(directory / "venv", python)
    constraints = str(CHECKOUT / "constraints.txt")
    _run([installed, "-m", "pip", "install", "-q", "-c", constraints, str(wheel)])
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")}
    environment |= {"HOME": str(directory), "COMMONPLACE_HOME": str(directory / "home")}
    for check in (SCRIPTS, NO_TORCH):
        _run([installed, "-c", check], cwd=elsewhere, env=environment)
    for arguments in USES:
        _run([str(Path(installed).with_name("commonplace")), *arguments], cwd=elsewhere, env=environment)
    _run([installed, "-c", REMOVE, str(directory / "home" / "postgres")], cwd=elsewhere, env=environment)
    return installed


def _environment(directory: Path, python: str) -> str:
    """Make a virtual environment with pip, and return its Python."""
    _run([python, str(CHECKOUT / "scripts" / "bootstrap.py"), str(directory)])
    return str(directory / "bin" / "python")


def _run(command: list[str], *, cwd: Path = CHECKOUT, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, env=env, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: ended with status {done.returncode}")


if __name__ == "__main__":
    main()
