"""Installing into the settings of Claude Code, and taking it out again, by the command."""

import json
import shutil
import stat
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import SettingsError, StorageUnavailableError
from commonplace.hosts.install.files import FileChange, JsonFile, apply
from commonplace.hosts.install.install_record import DIRECTORY
from commonplace.hosts.install.installation import (
    InstallScope,
    JsonSettings,
    SettingsFile,
    plan_install,
    plan_uninstall,
)
from commonplace.hosts.install.json_edits import Document, Ours
from commonplace.hosts.install.registry import HOSTS, Where
from support.commands import CommandLine, Done

OURS = Ours(command=["/opt/bin/commonplace"])
OLD = Ours(command=["/old/python", "-m", "commonplace"])
THEIR_HOOK = {"type": "command", "command": "echo hook session-start"}


def install(commonplace: CommandLine, *options: str) -> Done:
    """Install, and expect that it works."""
    done = commonplace("install", "claude-code", *options)
    assert (done.status, done.err) == (0, "")
    return done


def uninstall(commonplace: CommandLine, *options: str) -> Done:
    """Take it out again, and expect that it works."""
    done = commonplace("uninstall", "claude-code", *options)
    assert (done.status, done.err) == (0, "")
    return done


def read(path: Path) -> Any:  # noqa: ANN401 - JSON
    """Return the document in a file."""
    return json.loads(path.read_text())


def contents(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory with its contents, and every directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b"a directory"
        for path in directory.rglob("*")
    }


def files_of(root: Path, scope: InstallScope = InstallScope.PROJECT) -> list[SettingsFile]:
    """Return the files of Claude Code for a project, or for a user whose files are in ``config``."""
    where = Where(scope=scope, project=root, environ={"CLAUDE_CONFIG_DIR": str(root / "config")})
    return HOSTS["claude-code"].files(where)


def added(document: Document, ours: Ours) -> Document:
    """Return a document with all that goes into the two files of a project."""
    document = deepcopy(document)
    for file in files_of(Path("/nowhere")):
        assert isinstance(file, JsonSettings)
        for part in file.parts:
            part.add(document, ours)
    return document


def hooked(path: Path) -> FileChange:
    """Return the change that puts servers and hooks into a file."""
    file = JsonFile.read(path)
    return file.change(added(file.document, OURS))


def test_a_project_gets_servers_and_hooks_and_is_left_as_it_was(commonplace: CommandLine) -> None:
    """Nothing else was there: the files come and go; twice is once."""
    workspace = commonplace.directory

    first = install(commonplace)
    installed = contents(workspace)
    second = install(commonplace)

    assert read(workspace / ".mcp.json")["mcpServers"] == {
        "commonplace": {
            "type": "stdio",
            "command": str(commonplace.program),
            "args": ["mcp", "all", "--profile", "agent", "--project"],
            "alwaysLoad": True,
        }
    }
    settings = read(workspace / ".claude" / "settings.json")
    assert settings["hooks"]["SessionStart"] == [
        {
            "matcher": "startup|resume|clear|compact",
            "hooks": [
                {
                    "type": "command",
                    "command": str(commonplace.program),
                    "args": ["hook", "session-start"],
                    "timeout": 30,
                }
            ],
        }
    ]
    assert list(settings) == ["hooks"]
    assert settings["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"] == 20
    assert contents(workspace) == installed
    assert f"create {workspace / '.mcp.json'}" in first.out
    assert "--allowedTools" in first.out
    assert f"keep   {workspace / '.mcp.json'}" in second.out

    uninstall(commonplace)
    assert contents(workspace) == {}
    again = uninstall(commonplace)
    assert contents(workspace) == {}
    assert again.out == (
        "commonplace is not installed here for Claude Code. For the settings of the user, add --scope user.\n"
    )


def test_a_user_gets_permission_for_the_tools_too(commonplace: CommandLine) -> None:
    """In the files of the home, closed to others."""
    home = commonplace.home

    install(commonplace, "--scope", "user", "--butler", "jarvis")

    settings = read(home / ".claude" / "settings.json")
    assert settings["permissions"] == {"allow": ["mcp__commonplace"]}
    handler = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    assert handler["args"] == ["hook", "user-prompt", "--butler", "jarvis"]
    assert set(read(home / ".claude.json")) == {"mcpServers"}
    assert stat.S_IMODE((home / ".claude.json").stat().st_mode) == 0o600
    assert contents(commonplace.directory) == {}

    uninstall(commonplace, "--scope", "user")
    assert not (home / ".claude.json").exists()
    assert not (home / ".claude" / "settings.json").exists()


def test_the_client_s_own_variable_moves_the_files_of_the_user(
    commonplace: CommandLine, tmp_path: Path
) -> None:
    """As it moves them for the client."""
    directory = tmp_path / "elsewhere"

    commonplace("install", "claude-code", "--scope", "user", CLAUDE_CONFIG_DIR=str(directory))

    assert sorted(contents(directory)) == [".claude.json", "settings.json"]


def test_what_others_put_there_stays_to_the_byte(commonplace: CommandLine) -> None:
    """Other servers, hooks of the same events, permissions, indentation, the end of the file, mode and link."""
    workspace = commonplace.directory
    (workspace / ".claude").mkdir()
    theirs = {
        "model": "opus",
        "hooks": {"SessionStart": [{"hooks": [THEIR_HOOK]}], "Stop": [{"hooks": [THEIR_HOOK]}]},
        "permissions": {"allow": ["Bash(ls)"]},
        "größe": "ü",
    }
    settings = workspace / ".claude" / "settings.json"
    real = workspace / "dotfiles.json"
    real.write_text(json.dumps(theirs, ensure_ascii=False, indent=4))
    real.chmod(0o640)
    settings.symlink_to(real)
    servers = workspace / ".mcp.json"
    servers.write_bytes(b'{\r\n\t"mcpServers": {\r\n\t\t"other": {}\r\n\t}\r\n}\r\n')
    before = contents(workspace)

    install(commonplace)

    assert settings.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    installed = read(settings)
    assert installed["hooks"]["SessionStart"][0] == theirs["hooks"]["SessionStart"][0]
    assert installed["permissions"] == theirs["permissions"]
    assert list(read(servers)["mcpServers"]) == ["other", "commonplace"]
    assert servers.read_bytes().count(b"\r\n") == servers.read_bytes().count(b"\n")

    uninstall(commonplace)
    assert contents(workspace) == before
    assert settings.is_symlink()


def test_a_dry_run_shows_the_difference_and_changes_nothing(commonplace: CommandLine) -> None:
    """Without the lines around it, which may hold somebody's keys."""
    (commonplace.directory / ".mcp.json").write_text('{\n  "token": "their-token",\n  "mcpServers": {}\n}\n')
    before = contents(commonplace.directory)

    shown = install(commonplace, "--dry-run")
    document = install(commonplace, "--dry-run", "--json").json

    assert contents(commonplace.directory) == before
    assert '+    "commonplace": {' in shown.out
    assert "their-token" not in shown.out
    assert [file["action"] for file in document["files"]] == ["change", "create"]
    assert document["files"][0]["diff"] in shown.out
    assert document["dry_run"] is True


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("// mine\n{}", "expected JSON without comments"),
        ("{,}", "expected JSON without comments"),
        ("", "expected JSON without comments"),
        ("\ufeff{}", "expected JSON without comments"),
        ("[]", "expected a JSON object"),
        ('{"hooks": {}, "hooks": {}}', "the key 'hooks' twice"),
        ('{"a": NaN}', "NaN, which is not JSON"),
        ('{"hooks": []}', "hooks: expected an object, got []"),
        ('{"hooks": {"SessionEnd": {}}}', "SessionEnd: expected a list, got {}"),
        ("[" * 100_000, "expected JSON without comments"),
    ],
)
def test_a_file_that_would_be_damaged_is_refused_and_nothing_is_written(
    commonplace: CommandLine, held: str, said: str
) -> None:
    """Not even the other file."""
    settings = commonplace.directory / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(held)
    before = contents(commonplace.directory)

    done = commonplace("install", "claude-code")

    assert done.status == 1
    assert done.err.startswith(f"error: {settings}: ")
    assert said in done.err
    assert done.err.endswith("nothing was written\n")
    assert contents(commonplace.directory) == before


def test_a_name_that_is_taken_is_refused(commonplace: CommandLine) -> None:
    """Somebody else's server is not replaced, and not removed."""
    servers = commonplace.directory / ".mcp.json"
    servers.write_text('{"mcpServers": {"commonplace": {"command": "theirs", "args": []}}}')
    before = contents(commonplace.directory)

    refused = commonplace("install", "claude-code")
    uninstall(commonplace)

    assert refused.status == 1
    assert "mcpServers.commonplace: expected nothing or an earlier installation" in refused.err
    assert contents(commonplace.directory) == before


def test_where_one_file_cannot_be_written_the_other_is_put_back(tmp_path: Path) -> None:
    """All or nothing, without leftovers: the second name is too long for the file that is written beside it."""
    first, second = tmp_path / "a", tmp_path / ("b" * 250)
    first.write_text("{}")
    before = contents(tmp_path)
    changes = [hooked(path) for path in (first, second)]

    with pytest.raises(StorageUnavailableError, match="nothing was changed"):
        apply(changes)
    assert contents(tmp_path) == before


def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """The client writes its own files too."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = hooked(path)
    path.write_text('{"model": "opus"}')

    with pytest.raises(SettingsError, match="changed in the meantime"):
        apply([change])
    assert path.read_text() == '{"model": "opus"}'


def test_an_installation_at_another_path_is_replaced(tmp_path: Path) -> None:
    """What the user added to our server stays; the hooks stand once."""
    old = added({}, Ours(command=OLD.command, hook_options=["--butler", "b"]))
    old["mcpServers"]["commonplace"]["env"] = {"COMMONPLACE_HOME": str(tmp_path)}

    new = added(old, OURS)

    assert new["hooks"] == added({}, OURS)["hooks"]
    assert new["mcpServers"]["commonplace"]["command"] == OURS.command[0]
    assert new["mcpServers"]["commonplace"]["env"] == {"COMMONPLACE_HOME": str(tmp_path)}


groups = st.lists(
    st.one_of(
        st.just({"hooks": [THEIR_HOOK]}),
        st.just({"matcher": "resume", "hooks": [THEIR_HOOK, {"type": "http", "url": "x"}]}),
        st.just({"hooks": [{"type": "command", "command": "commonplace", "args": ["hook", "other"]}]}),
        st.just("not a group"),
        st.just({"hooks": "not a list"}),
    ),
    max_size=3,
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(
            st.sampled_from(["SessionStart", "SessionEnd", "UserPromptSubmit", "Stop"]), groups
        ),
        "permissions": st.one_of(
            st.just({}),
            st.just({"allow": []}),
            st.just({"allow": ["Bash(ls)", "mcp__commonplace-workspace", "mcp__commonplace"]}),
            st.just({"deny": []}),
            st.just({"allow": ["x"], "deny": ["y"]}),
        ),
        "mcpServers": st.dictionaries(st.sampled_from(["other", "x"]), st.just({"command": "c"})),
        "model": st.just("öpus"),
    },
)
files = st.one_of(
    st.none(),
    st.builds(
        lambda document, indent, ascii_only, newline, end: (
            json.dumps(document, indent=indent, ensure_ascii=ascii_only).replace("\n", newline) + end
        ),
        documents,
        st.sampled_from([None, 1, 2, 4, "\t"]),
        st.booleans(),
        st.sampled_from(["\n", "\r\n"]),
        st.sampled_from(["", "\n", "\n\n"]),
    ),
    st.sampled_from(["{ }", "{\n}\n", '{\n  "mcpServers": {\n  },\n  "hooks": {"SessionEnd": [ ]}\n}']),
)


@given(servers=files, settings=files, scope=st.sampled_from(InstallScope), directory=st.booleans())
def test_taking_out_undoes_putting_in_to_the_byte(
    servers: str | None, settings: str | None, scope: InstallScope, *, directory: bool
) -> None:
    """Whatever the files hold and however they are written; putting in twice, and at another path, is once."""
    with TemporaryDirectory() as made:
        root, home = Path(made) / "root", Path(made) / "home"
        root.mkdir()
        given = files_of(root, scope)
        where = [file.path for file in given]
        if directory or settings is not None or (servers is not None and scope is InstallScope.USER):
            where[1].parent.mkdir()
        for path, text in zip(where, (servers, settings), strict=True):
            if text is not None:
                path.write_bytes(text.encode())
        before = contents(root)

        for ours in (OLD, OURS, OURS):
            plan = plan_install(given, ours, home=home)
            apply([*plan.notes, *plan.files])
        assert [change.action for change in plan.files] == ["keep", "keep"]
        plan = plan_uninstall(given, home=home)
        apply([*plan.files, *plan.notes])
        for each in dict.fromkeys(plan.directories):
            each.rmdir()

        assert contents(root) == before
        assert [path for path in home.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("servers", "hooks"),
    [
        ('{\n  "mcpServers": {}\n}\n', "{}"),
        ("{}\n", '{"hooks": {"SessionStart": []}, "permissions": {"allow": ["Bash(ls)"]}}'),
    ],
)
def test_files_that_held_nothing_are_there_again(commonplace: CommandLine, servers: str, hooks: str) -> None:
    """The first is what ``claude mcp remove`` leaves. Lists on one line stay on one."""
    workspace = commonplace.directory
    (workspace / ".claude").mkdir()
    (workspace / ".mcp.json").write_text(servers)
    (workspace / ".claude" / "settings.json").write_text(hooks)
    before = contents(workspace)

    install(commonplace)
    assert contents(workspace) != before
    uninstall(commonplace)

    assert contents(workspace) == before


def test_a_permission_that_the_user_gave_stays(commonplace: CommandLine) -> None:
    """The installation added none."""
    settings = commonplace.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["mcp__commonplace"]}}')
    before = settings.read_bytes()

    install(commonplace, "--scope", "user")
    assert read(settings)["permissions"] == {"allow": ["mcp__commonplace"]}
    uninstall(commonplace, "--scope", "user")

    assert settings.read_bytes() == before


def test_what_others_added_meanwhile_stays(commonplace: CommandLine) -> None:
    """A file and a list that an installation made are theirs too by then."""
    install(commonplace)
    servers, settings = commonplace.directory / ".mcp.json", commonplace.directory / ".claude/settings.json"
    for path, keys, theirs in (
        (servers, ("mcpServers", "theirs"), {"command": "x"}),
        (settings, ("hooks", "Stop"), [{"hooks": [THEIR_HOOK]}]),
    ):
        document = read(path)
        document[keys[0]][keys[1]] = theirs
        path.write_text(json.dumps(document, indent=4))

    uninstall(commonplace)

    assert servers.read_text() == json.dumps({"mcpServers": {"theirs": {"command": "x"}}}, indent=4)
    assert settings.read_text() == json.dumps({"hooks": {"Stop": [{"hooks": [THEIR_HOOK]}]}}, indent=4)


def test_without_a_note_nothing_goes_but_what_is_surely_ours(commonplace: CommandLine) -> None:
    """As after an installation of an earlier release: files, objects and lists stay, permissions go."""
    install(commonplace, "--scope", "user")
    shutil.rmtree(commonplace.home / DIRECTORY)

    uninstall(commonplace, "--scope", "user")

    assert read(commonplace.home / ".claude.json") == {"mcpServers": {}}
    assert read(commonplace.home / ".claude" / "settings.json") == {
        "hooks": {"SessionStart": [], "UserPromptSubmit": [], "SessionEnd": []},
        "permissions": {"allow": []},
    }


def test_a_file_that_was_written_anew_is_not_taken_for_ours(commonplace: CommandLine) -> None:
    """An installation made one, which somebody removed and wrote again before the next installation."""
    servers = commonplace.directory / ".mcp.json"
    install(commonplace)
    servers.write_text('{"mcpServers": {}}')

    install(commonplace)
    uninstall(commonplace)

    assert servers.read_text() == '{"mcpServers": {}}'


def test_where_nothing_can_be_noted_nothing_is_installed(commonplace: CommandLine) -> None:
    """It could not be taken out again as it was."""
    (commonplace.home / "claude-code").symlink_to("nowhere")

    done = commonplace("install", "claude-code")

    assert (done.status, contents(commonplace.directory)) == (1, {})
    assert done.err.endswith("nothing was changed\n")


def test_a_file_that_nobody_may_read_is_one_line_of_error(commonplace: CommandLine) -> None:
    """A directory in its place stands for it: root may read everything."""
    (commonplace.directory / ".mcp.json").mkdir()

    done = commonplace("install", "claude-code", "--json")

    assert done.status == 1
    assert done.err.startswith(f"error: {commonplace.directory / '.mcp.json'}: cannot be read: ")
    assert list(contents(commonplace.directory)) == [".mcp.json"]
