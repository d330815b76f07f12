"""What release 0.1.0 installed into a host runs with later releases, which refresh and remove it."""

import json
from pathlib import Path
from uuid import uuid4

import pytest

from support.releases import Installation, workspace_of
from support.resident import PATIENT

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

NOTE = "The build needs Node 22"


@pytest.mark.requirement("UPG-05.1")
def test_hooks_run_and_are_refreshed(old: Installation, home: Path, releases: dict[str, Path]) -> None:
    """The command in the settings stays; installing again leaves one of each, and uninstalling none."""
    settings = workspace_of(home) / ".claude" / "settings.json"
    old.do(home, "install", "claude-code", "--scope", "project")
    installed = settings.read_text()
    (hook,) = json.loads(installed)["hooks"]["UserPromptSubmit"][0]["hooks"]

    old.replace(releases["today"])
    call = {"session_id": str(uuid4()), "transcript_path": "/none", "cwd": str(workspace_of(home))}
    document = json.dumps(call | {"prompt": "what does the build need?"}).encode()
    assert hook["command"] == str(old.program)
    assert NOTE in old.run(home, *hook["args"], stdin=document, variables=PATIENT).out

    old.do(home, "install", "claude-code", "--scope", "project")
    assert settings.read_text() == installed
    old.do(home, "uninstall", "claude-code", "--scope", "project")
    assert "commonplace" not in (settings.read_text() if settings.exists() else "")
