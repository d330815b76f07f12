"""Build a release into ``dist/`` and check it: sdist, wheel, SBOM, checksums and notes. Nothing is uploaded.

Usage: COMMONPLACE_REPOSITORY=https://… python scripts/release.py

The wheel is installed into a new environment and used there; the SBOM (CycloneDX) lists what that environment holds.
The wheel is also kept, without its large files, as a fixture of tests of upgrades (``scripts/keep_release.py``).
Every dependency must be a wheel on macOS and Linux with arm64, for each version of Python.
The version is that of pyproject.toml, and the notes are the changelog's section of that version.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import keep_release
import platforms
import try_wheel

CHECKOUT = try_wheel.CHECKOUT
DIST = try_wheel.DIST
IN_BOTH = (
    "commonplace/__init__.py",
    "commonplace/py.typed",
    "commonplace/embedding/minilm/model.safetensors",
    "commonplace/web/pages/static/vendor/",
)
IN_WHEEL = (*IN_BOTH, "commonplace/examples/ops-sessions.jsonl", "entry_points.txt", "licenses/LICENSE")
IN_SDIST = (*IN_BOTH, "LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "scripts/build_hook.py")
NEVER = re.compile(
    r"(^|/)(__pycache__|node_modules|\.venv[^/]*|\.aegis|\.git|\.env|dist)(/|$)|\.(pyc|db|jsonl\.lock)$"
)
STRONG_COPYLEFT = re.compile(r"(?<!L)\bA?GPL|(?<!Lesser )General Public License")
LICENCES_BY_HAND = {"protobuf": "BSD-3-Clause"}
"""Licences that the SBOM's tool does not recognise, read from the packages' licence files."""


def main() -> None:
    """Make the release; exit with a message at the first fault."""
    repository = os.environ.get("COMMONPLACE_REPOSITORY", "")
    if not repository.startswith("https://"):
        sys.exit(
            "COMMONPLACE_REPOSITORY: expected the https:// address of the repository, for links of the readme"
        )
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    notes = section((CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if notes is None:
        sys.exit(
            f"CHANGELOG.md: expected a section '## {version}'; rename Unreleased, or change pyproject.toml"
        )
    wheel, sdist = try_wheel.build()
    run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    sbom = DIST / f"commonplace-{version}.cdx.json"
    with tempfile.TemporaryDirectory(prefix="commonplace-release-") as name:
        python = try_wheel.use(wheel, sys.executable, Path(name))
        tool = str(Path(sys.executable).with_name("cyclonedx-py"))
        options = ["--output-reproducible", "--pyproject", str(CHECKOUT / "pyproject.toml"), "-o", str(sbom)]
        run([tool, "environment", *options, python])
    contents = with_licences(json.loads(sbom.read_text(encoding="utf-8")))
    sbom.write_text(json.dumps(contents, indent=2) + "\n", encoding="utf-8")
    faults = [
        *(f"{wheel.name}: {fault}" for fault in faults_in(names_in_wheel(wheel), IN_WHEEL)),
        *(f"{sdist.name}: {fault}" for fault in faults_in(names_in_sdist(sdist), IN_SDIST)),
        *licence_faults(contents),
        *platforms.unresolved(wheel),
    ]
    if faults:
        sys.exit("\n".join(faults))
    fixture = keep_release.keep(wheel, keep_release.RELEASES)
    (DIST / "NOTES.md").write_text(notes, encoding="utf-8")
    (DIST / "SHA256SUMS").write_text("".join(map(checksum, (wheel, sdist, sbom))), encoding="ascii")
    print(f"{fixture} is kept for tests of upgrades: commit it with the release")
    print(f"{version} is ready in {DIST}: {', '.join(sorted(each.name for each in DIST.iterdir()))}")


def section(changelog: str, version: str) -> str | None:
    """Return the changelog's text below the heading of a version, which may end with a date."""
    found = re.search(
        rf"^## {re.escape(version)}(?=\s)[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE
    )
    return found[1].strip() + "\n" if found else None


def faults_in(names: Iterable[str], needed: Iterable[str]) -> list[str]:
    """Return a message for every file that is missing from an archive, or that must not be in it."""
    found = set(names)
    missing = [each for each in needed if not any(each in name for name in found)]
    return [f"{each} is missing" for each in missing] + [
        f"{name} must not be in it" for name in sorted(found) if NEVER.search(name)
    ]


def names_in_wheel(wheel: Path) -> list[str]:
    """Return the names of the files in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def names_in_sdist(sdist: Path) -> list[str]:
    """Return the names of the files in an sdist, without its top directory."""
    with tarfile.open(sdist) as archive:
        return [name.partition("/")[2] for name in archive.getnames()]


def with_licences(sbom: dict[str, Any]) -> dict[str, Any]:
    """Return an SBOM with the licences that its tool does not recognise."""
    for component in sbom["components"]:
        if component["name"] in LICENCES_BY_HAND and not [*licences(component)]:
            component["licenses"] = [{"license": {"id": LICENCES_BY_HAND[component["name"]]}}]
    return sbom


def licence_faults(sbom: dict[str, Any]) -> Iterator[str]:
    """Yield a message for every dependency without a licence, or with one that would bind commonplace too."""
    for component in sbom["components"]:
        names = [*licences(component)]
        if not names:
            yield f"{component['name']}: expected a licence, found none in its metadata"
        # Of several licences the user may choose.
        if names and all(STRONG_COPYLEFT.search(each) for each in names):
            yield f"{component['name']}: expected a permissive licence, found {', '.join(names)}"


def licences(component: dict[str, Any]) -> Iterator[str]:
    """Yield the names of a component's licences."""
    for each in component.get("licenses", ()):
        licence = each.get("license", {})
        name = each.get("expression") or licence.get("id") or licence.get("name")
        if name:
            yield name


def checksum(path: Path) -> str:
    """Return the line of a file for ``sha256sum --check``."""
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


def run(command: list[str]) -> None:
    """Run a tool; exit with its name if it fails."""
    if subprocess.run(command, cwd=CHECKOUT, check=False).returncode:
        sys.exit(f"{' '.join(command)} failed")


if __name__ == "__main__":
    main()
