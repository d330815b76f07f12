"""Ask pip whether every dependency of a wheel is itself a wheel on each platform. Nothing is installed.

Usage: python scripts/platforms.py WHEEL
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "macOS 14, arm64": [
        *(f"macosx_{major}_0_arm64" for major in (14, 13, 12, 11)),
        *("macosx_11_0_universal2", "macosx_10_13_universal2", "macosx_10_9_universal2"),
    ],
    "Linux, arm64": [
        *(f"manylinux_2_{minor}_aarch64" for minor in (28, 27, 26, 24, 17)),
        "manylinux2014_aarch64",
    ],
}
"""The tags that pip of each platform accepts, newest first."""


def command(wheel: Path, python: str, tags: list[str], target: str) -> list[str]:
    """Return the command that resolves a wheel's dependencies without installing them."""
    return [
        *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"),
        *("--only-binary=:all:", "--implementation", "cp", "--python-version", python, "--target", target),
        *(word for tag in tags for word in ("--platform", tag)),
        *("-c", str(CONSTRAINTS), str(wheel)),
    ]


def unresolved(wheel: Path) -> Iterator[str]:
    """Yield the faults: a platform and version of Python, and the words of pip."""
    with tempfile.TemporaryDirectory() as target:
        for platform, tags in PLATFORMS.items():
            for python in PYTHONS:
                done = subprocess.run(
                    command(wheel, python, tags, target), check=False, capture_output=True, text=True
                )
                if done.returncode:
                    yield f"{platform}, Python {python}: {done.stderr.strip()}"


if __name__ == "__main__":
    sys.exit("\n".join(unresolved(Path(sys.argv[1]))) or None)
