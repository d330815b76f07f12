"""Install what the tests drive from npm: CLIs of agents, the MCP conformance suite and axe-core.

The packages go into ``node_modules`` of the checkout and of ``tests/clients``. Tests skip what is not installed.

Usage: python scripts/clients.py
"""

import subprocess
import tempfile
from pathlib import Path

from assets import CHECKOUT, npm

QUIET = ["--no-audit", "--no-fund", "--loglevel=error"]


def main() -> None:
    """Install the packages of both manifests."""
    with tempfile.TemporaryDirectory(prefix="commonplace-clients-") as scratch:
        command, environment = npm(Path(scratch))
        other = CHECKOUT / "tests" / "clients"
        for arguments, directory in ((["ci"], CHECKOUT), (["install", "--no-package-lock"], other)):
            subprocess.run([*command, *arguments, *QUIET], cwd=directory, env=environment, check=True)


if __name__ == "__main__":
    main()
