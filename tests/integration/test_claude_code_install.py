"""Installing into the settings of Claude Code, and taking it out again, by the command."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.cli.claude_code.configuration import (
    with_hooks,
    with_permission,
    with_servers,
    without_hooks,
    without_permission,
    without_servers,
)
from commonplace.cli.claude_code.files import apply, plan
from commonplace.core.errors import SettingsError, StorageUnavailableError
from support.commands import COMMAND, CommandLine, Done

OURS = ["/opt/bin/commonplace"]
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


def test_a_project_gets_servers_and_hooks_and_is_left_as_it_was(commonplace: CommandLine) -> None:
    """Nothing else was there: the files come and go; twice is once."""
    workspace = commonplace.directory

    first = install(commonplace)
    installed = contents(workspace)
    second = install(commonplace)

    assert read(workspace / ".mcp.json")["mcpServers"]["commonplace-knowledge"] == {
        "type": "stdio",
        "command": str(COMMAND),
        "args": ["mcp", "knowledge"],
        "alwaysLoad": True,
    }
    settings = read(workspace / ".claude" / "settings.json")
    assert settings["hooks"]["SessionStart"] == [
        {
            "matcher": "startup|resume",
            "hooks": [
                {
                    "type": "command",
                    "command": str(COMMAND),
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
    uninstall(commonplace)
    assert contents(workspace) == {}


def test_a_user_gets_permission_for_the_tools_too(commonplace: CommandLine) -> None:
    """In the files of the home, closed to others."""
    home = commonplace.home

    install(commonplace, "--scope", "user", "--butler", "jarvis")

    settings = read(home / ".claude" / "settings.json")
    assert settings["permissions"] == {"allow": ["mcp__commonplace-workspace", "mcp__commonplace-knowledge"]}
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
    assert list(read(servers)["mcpServers"]) == ["other", "commonplace-workspace", "commonplace-knowledge"]
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
    assert '+    "commonplace-knowledge": {' in shown.out
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
        ('{"a": NaN}', "NaN, which is no JSON"),
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
    servers.write_text('{"mcpServers": {"commonplace-knowledge": {"command": "theirs", "args": []}}}')
    before = contents(commonplace.directory)

    refused = commonplace("install", "claude-code")
    uninstall(commonplace)

    assert refused.status == 1
    assert "mcpServers.commonplace-knowledge: expected nothing or an earlier installation" in refused.err
    assert contents(commonplace.directory) == before


def test_where_one_file_cannot_be_written_the_other_is_put_back(tmp_path: Path) -> None:
    """All or nothing, without leftovers: the second name is too long for the file that is written beside it."""
    first, second = tmp_path / "a", tmp_path / ("b" * 250)
    first.write_text("{}")
    before = contents(tmp_path)
    changes = [plan(path, lambda document: with_hooks(document, OURS)) for path in (first, second)]

    with pytest.raises(StorageUnavailableError, match="nothing was changed"):
        apply(changes)
    assert contents(tmp_path) == before


def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """The client writes its own files too."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = plan(path, lambda document: with_hooks(document, OURS))
    path.write_text('{"model": "opus"}')

    with pytest.raises(SettingsError, match="changed by somebody else meanwhile"):
        apply([change])
    assert path.read_text() == '{"model": "opus"}'


def test_an_installation_at_another_path_is_replaced(tmp_path: Path) -> None:
    """What the user added to our server stays; the hooks stand once."""
    old = with_servers(with_hooks({}, ["/old/python", "-m", "commonplace"], butler="b"), ["/old/commonplace"])
    old["mcpServers"]["commonplace-workspace"]["env"] = {"COMMONPLACE_HOME": str(tmp_path)}

    new = with_servers(with_hooks(old, OURS), OURS)

    assert new["hooks"] == with_hooks({}, OURS)["hooks"]
    assert new["mcpServers"]["commonplace-workspace"]["command"] == OURS[0]
    assert new["mcpServers"]["commonplace-workspace"]["env"] == {"COMMONPLACE_HOME": str(tmp_path)}


groups = st.lists(
    st.one_of(
        st.just({"hooks": [THEIR_HOOK]}),
        st.just({"matcher": "resume", "hooks": [THEIR_HOOK, {"type": "http", "url": "x"}]}),
        st.just({"hooks": [{"type": "command", "command": "commonplace", "args": ["hook", "other"]}]}),
        st.just("not a group"),
        st.just({"hooks": "not a list"}),
    ),
    min_size=1,
    max_size=3,
)
documents = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(
            st.sampled_from(["SessionStart", "SessionEnd", "UserPromptSubmit", "Stop"]), groups, min_size=1
        ),
        "permissions": st.one_of(
            st.just({"allow": ["Bash(ls)"]}), st.just({"deny": []}), st.just({"allow": ["x"], "deny": ["y"]})
        ),
        "mcpServers": st.dictionaries(st.sampled_from(["other", "x"]), st.just({"command": "c"}), min_size=1),
        "model": st.just("opus"),
    },
)


@given(document=documents)
def test_taking_out_undoes_putting_in(document: dict[str, Any]) -> None:
    """Order included; putting in twice is once; the original is not touched."""
    original = json.dumps(document)

    def put_in(each: dict[str, Any]) -> dict[str, Any]:
        return with_permission(with_servers(with_hooks(each, OURS), OURS))

    installed = put_in(document)
    removed = without_permission(without_servers(without_hooks(installed)))

    assert put_in(installed) == installed
    assert json.dumps(removed) == original
    assert json.dumps(document) == original
    assert json.dumps(without_permission(without_servers(without_hooks(document)))) == original


def test_a_file_that_nobody_may_read_is_one_line_of_error(commonplace: CommandLine) -> None:
    """A directory in its place stands for it: root may read everything."""
    (commonplace.directory / ".mcp.json").mkdir()

    done = commonplace("install", "claude-code", "--json")

    assert done.status == 1
    assert done.err.startswith(f"error: {commonplace.directory / '.mcp.json'}: cannot be read: ")
    assert list(contents(commonplace.directory)) == [".mcp.json"]
