"""The real claude CLI, against a scripted API, in a home of its own."""

import os
import shutil
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


def claude_path() -> str:
    """Return a PATH on which the CLI is: that of the checkout's ``node_modules``, else the one of this machine.

    Skips the test where there is none.
    """
    path = f"{CHECKOUT / 'node_modules' / '.bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    if shutil.which("claude", path=path) is None:
        pytest.skip("needs the claude CLI: run `npm install` in the checkout")
    return path


def claude_environment(home: Path, api_url: str) -> dict[str, str]:
    """Return an environment in which the CLI knows nothing but an API, a key for it and an empty home."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": claude_path(),
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": api_url,
        "ANTHROPIC_API_KEY": "sk-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
