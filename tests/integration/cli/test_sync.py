"""``commonplace sync`` as a person uses it on two machines."""

from pathlib import Path
from typing import Any

import pytest

from support.commands import CommandLine, Done
from support.database_stock import DatabaseStock

SECRET = "correct horse battery staple"

pytestmark = pytest.mark.requirement("SYN-11.1")


class Machine:
    """A machine with a home and a database of its own."""

    def __init__(self, commonplace: CommandLine, home: Path, database: str) -> None:
        self._commonplace = commonplace
        self._environ: dict[str, Any] = {"COMMONPLACE_HOME": str(home), "COMMONPLACE_POSTGRES_URL": database}

    def __call__(self, *words: str) -> Done:
        """Run a command and return how it ended."""
        return self._commonplace(*words, **self._environ)


async def test_two_machines_share_their_memories(
    commonplace: CommandLine, knowledge_databases: DatabaseStock, tmp_path: Path
) -> None:
    """Begin, join, look, revoke, leave."""
    async with knowledge_databases.lend() as one, knowledge_databases.lend() as other:
        laptop = Machine(commonplace, tmp_path / "laptop", one.url)
        desktop = Machine(commonplace, tmp_path / "desktop", other.url)
        secret, new = tmp_path / "secret", tmp_path / "new"
        secret.write_text("correct horse battery staple\n")
        new.write_text("another good passphrase\n")
        carried = "carried"  # In the directory of the person.

        assert "does not sync" in laptop("sync").err
        laptop("add", "lesson", "Takes 60s to start", "--category", "timing", "--service", "jellyfin")
        begun = laptop("sync", "init", carried, "--name", "laptop", "--passphrase-file", str(secret))
        assert "This device, laptop, syncs with " in begun.out, begun.err
        assert "1 change of this device, 1 file sent" in begun.out
        assert "run `commonplace sync join` with this target" in begun.out
        again = laptop("sync", "init", carried, "--passphrase-file", str(secret))
        assert (again.status, "syncs already" in again.err) == (1, True)
        wrong = desktop("sync", "join", carried, "--passphrase-file", str(new))
        assert (wrong.status, "passphrase" in wrong.err) == (1, True)
        joined = desktop("sync", "join", carried, "--name", "desktop", "--passphrase-file", str(secret))
        assert "1 memory changed here" in joined.out, joined.err
        assert "Takes 60s to start" in desktop("list", "lessons").out
        history = desktop("history", "o:1")
        assert "device laptop" in history.out
        assert desktop("history", "o:1", "--json").json["steps"][0]["actor"] == "sync:laptop"
        assert "Nothing new." in desktop("sync").out
        assert "ok     sync" in laptop("doctor", "--no-model").out

        assert "Nothing new." in laptop("sync").out
        for machine, port in ((laptop, "8096"), (desktop, "8920")):
            assert machine("add", "fact", "Jellyfin", "port", f"listens on {port}").status == 0
        for machine in (laptop, desktop, laptop):
            assert machine("sync").status == 0
        for machine in (laptop, desktop):
            conflict = "1 conflict waits for you, because two devices changed a memory at once: `commonplace review`."
            assert conflict in machine("sync", "status").out
            assert "listens on 80" in machine("review").out
        status = laptop("sync", "status", "--json").json
        assert (status["conflicts"], status["notes"]) == (1, [])
        assert [each["name"] for each in status["devices"]] in (["laptop", "desktop"], ["desktop", "laptop"])
        revoked = laptop("sync", "revoke", "desktop", "--passphrase-file", str(new))
        assert "desktop is revoked" in revoked.out, revoked.err
        assert "revoked" in desktop("sync").err
        assert "Every sync has failed since" in desktop("sync", "status").out
        assert "revoked" in laptop("sync", "status").out
        assert "memories stay" in laptop("sync", "leave").out
        assert "Takes 60s to start" in laptop("list", "lessons").out


@pytest.mark.requirement("SYN-16.1")
@pytest.mark.parametrize(
    ("verb", "target", "passphrase", "error"),
    [
        ("init", "carried", "short", "at least 12 characters"),
        ("join", "nowhere", SECRET, "there is no home at {directory}/nowhere yet: wait until its files"),
        ("init", "file", SECRET, "the folder {directory}/file cannot be used: Not a directory"),
        ("join", "file", SECRET, "the folder {directory}/file cannot be used: Not a directory"),
        ("init", "/proc/nowhere", SECRET, "the folder /proc/nowhere cannot be used: No such file"),
        ("init", "git+nowhere", SECRET, "'{directory}/nowhere' does not appear to be a git repository"),
        ("init", "https://localhost:9", SECRET, "--token-file: expected a file with the token"),
        ("init", "ftp://example.com/files", SECRET, "target: expected an absolute path of a folder, a Git"),
    ],
)
def test_a_target_that_is_none_is_one_clear_line(
    commonplace: CommandLine, verb: str, target: str, passphrase: str, error: str
) -> None:
    """And the home does not sync then, so the command can be repeated."""
    (commonplace.directory / "file").touch()
    done = commonplace("sync", verb, target, stdin=f"{passphrase}\n".encode())
    assert done.status == 1
    assert error.format(directory=commonplace.directory) in done.err
    assert len(done.err.splitlines()) == 1
    assert "does not sync" in commonplace("sync", "status").err


@pytest.mark.requirement("SYN-16.1")
def test_a_file_without_a_passphrase_is_named(commonplace: CommandLine) -> None:
    """By the option that named it."""
    done = commonplace("sync", "init", "carried", "--passphrase-file", "nowhere")
    assert (done.status, "--passphrase-file: expected a readable file" in done.err) == (1, True)
