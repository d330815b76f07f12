"""Files that commonplace writes: only their owner can read them, whatever the umask of the process."""

import stat
import subprocess
from pathlib import Path

import pytest

from commonplace.core.settings import Settings
from support.commands import COMMAND, clean_environment
from support.deadlines import DEADLINE_S

OTHERS = stat.S_IRWXG | stat.S_IRWXO
PROMPT = '{"session_id": "s1", "cwd": "%s", "transcript_path": "/x", "prompt": "What is the port?"}'


def run(settings: Settings, *words: str, text: str = "") -> int:
    """Run a command with a umask that hides nothing, as some containers have, and return its status."""
    done = subprocess.run(
        [COMMAND, *words],
        input=text,
        text=True,
        umask=0,
        cwd=settings.workspace,
        env=clean_environment(settings.home),
        capture_output=True,
        timeout=12 * DEADLINE_S,
        check=False,
    )
    return done.returncode


def readable(folder: Path) -> list[str]:
    """Return the files and directories of a folder that other users may use.

    The account of the embedded server has its own directory, and the models of a test are lent.
    """
    return [
        path.relative_to(folder).as_posix()
        for path in [folder, *folder.rglob("*")]
        if not path.is_symlink()
        and not {"postgres", "models"} & {*path.parts}
        and path.lstat().st_mode & OTHERS
    ]


@pytest.mark.requirement("HRD-08.1")
def test_nothing_in_a_home_is_readable_by_others(settings: Settings, tmp_path: Path) -> None:
    """Databases, logs, records of hooks, backups and exports, after the commands that write them."""
    exports, lines = tmp_path / "exports", tmp_path / "private" / "export.jsonl"
    exports.mkdir()
    lines.parent.mkdir(mode=0o700)
    for words in (
        ("ops", "add", "--category", "timing", "Takes 60 s to start"),
        ("add", "note", "The tests need Redis."),
        ("backup", str(lines.parent / "backup.tar.gz")),
        ("export", str(exports)),
        ("export", str(lines)),
        ("token", "create", "--role", "reader", "--name", "me"),
    ):
        assert run(settings, *words) == 0, words
    run(settings, "hook", "user-prompt", text="{")
    run(settings, "hook", "user-prompt", text=PROMPT % settings.workspace)
    assert (settings.home / "logs" / "hooks.log").is_file()
    assert readable(settings.home) == []
    assert [name for name in readable(exports) if name != "."] == []
    assert readable(lines.parent) == []
