"""Installing into every host's settings and taking it out again."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import SettingsError
from commonplace.hosts.install.files import apply
from commonplace.hosts.install.install_record import note_path
from commonplace.hosts.install.installation import InstallScope, plan_install, plan_uninstall
from commonplace.hosts.install.json_edits import Ours, Servers, Words
from commonplace.hosts.install.output import rendered
from commonplace.hosts.install.registry import HOSTS, OPENCODE_PLUGIN, Where
from commonplace.hosts.install.toml_settings import TomlSettings
from support.commands import CommandLine, Done

pytestmark = pytest.mark.requirement("HST-01.1", "HST-02.1", "HST-03.1", "HST-04.1", "HST-05.1")

OLD = Ours(command=["/old/python", "-m", "commonplace"])
ODD_PATH = '/opt/a b/it\'s "$(touch owned)" `id`;&|*\\/commonplace'
OURS = Ours(
    command=["/opt/a b/commonplace"],
    hook_options=["--host", "x"],
    server_options=["--server", "https://memory.example"],
)

EARLIER_WORDS = '"mcp__commonplace-workspace", "mcp__commonplace-knowledge"'
"""The permissions that earlier releases noted."""

JSON_TEXTS = [
    "{}",
    "{ }\n",
    '{\n\t"mcpServers": {"theirs": {"command": "x"}},\n\t"hooks": {"SessionStart": [], "Stop": [{"a": 1}]}\n}\n',
    '{"servers": {}, "mcp": {}, "plugin": ["theirs"], "version": 1, "hooks": {}, "größe": "ü"}',
]
TOML_TEXTS = [
    "",
    "\n\n",
    'model = "m"',
    '# mine\nmodel = "m"\n\n[mcp_servers.theirs]\ncommand = "x" # why\n',
    'text = """\n[mcp_servers.commonplace]\nno table\n"""\r\n',
    "[[rules]]\na = 1\n[[rules]]\na = 2\n\n\n",
]


def contents(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory with its contents, and every directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b"a directory"
        for path in directory.rglob("*")
    }


def where(root: Path, scope: InstallScope) -> Where:
    """Return a place whose project and user are below a directory."""
    return Where(scope=scope, project=root / "project", environ={"HOME": str(root / "user")})


@given(host=st.sampled_from(list(HOSTS.values())), scope=st.sampled_from(InstallScope), data=st.data())
def test_taking_out_undoes_putting_in_to_the_byte(
    host: Any,  # noqa: ANN401
    scope: InstallScope,
    data: st.DataObject,
) -> None:
    """Whatever the files hold; putting in twice, and at another path, is once."""
    with TemporaryDirectory() as made:
        root, home = Path(made) / "root", Path(made) / "home"
        for directory in ("project", "user"):
            (root / directory).mkdir(parents=True)
        files = host.files(where(root, scope))
        for file in files:
            texts = TOML_TEXTS if file.path.suffix == ".toml" else JSON_TEXTS
            text = data.draw(st.sampled_from([None, *texts]))
            if text is not None:
                file.path.parent.mkdir(parents=True, exist_ok=True)
                file.path.write_bytes(text.encode())
        before = contents(root)

        for ours in (OLD, OURS, OURS):
            plan = plan_install(files, ours, home=home)
            apply([*plan.notes, *plan.files])
        assert {change.action for change in plan.files} == {"keep"}
        assert all(str(OURS.command[0]) in file.path.read_text() for file in files)
        assert not any("/old/python" in file.path.read_text() for file in files)
        plan = plan_uninstall(files, home=home)
        apply([*plan.files, *plan.notes])
        for each in dict.fromkeys(plan.directories):
            if not list(each.iterdir()):
                each.rmdir()

        assert contents(root) == before


@pytest.mark.requirement("HRD-08.1")
@pytest.mark.parametrize("scope", InstallScope)
@pytest.mark.parametrize("host", list(HOSTS.values()), ids=list(HOSTS))
def test_a_path_with_any_characters_is_one_word(
    tmp_path: Path,
    host: Any,  # noqa: ANN401
    scope: InstallScope,
) -> None:
    """Spaces, quotes and what a shell expands: no part of a path becomes a command."""
    ours = replace(OURS, command=[ODD_PATH])
    for directory in ("project", "user"):
        (tmp_path / directory).mkdir()
    files = host.files(where(tmp_path, scope))
    apply(plan_install(files, ours, home=tmp_path / "home").files)
    programs = [
        program
        for file in files
        for program in programs_in(
            tomllib.loads(file.path.read_text())
            if isinstance(file, TomlSettings)
            else json.loads(file.path.read_text())
        )
    ]
    assert programs
    assert set(programs) == {ODD_PATH}


def programs_in(document: Any) -> list[str]:  # noqa: ANN401 - JSON
    """Return the program that each command of a settings file runs, as a shell reads it if the host uses one."""
    if isinstance(document, list):
        return [program for each in document for program in programs_in(each)]
    if not isinstance(document, dict):
        return []
    command = document.get("command")
    if isinstance(command, list):
        return [command[0]]
    if isinstance(command, str):
        return [command if "args" in document else first_word(command)]
    return [program for each in document.values() for program in programs_in(each)]


def first_word(command: str) -> str:
    """Return the first word of a command as a shell reads it."""
    script = f'words() {{ printf %s "$1"; }}; words {command}'
    return subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout


def as_earlier(file: Any, text: str) -> str:  # noqa: ANN401 - a settings file of either kind
    """Return a settings file as earlier releases wrote it: two servers, and the user's own variable in one of them."""
    command = str(OLD.command[0])
    commands = {name: ["-m", "commonplace", "mcp", name] for name in ("workspace", "knowledge")}
    if isinstance(file, TomlSettings):
        document = tomllib.loads(text)
        own = document["mcp_servers"].pop("commonplace")
        head = text.partition("[mcp_servers.commonplace]")[0]
        constants = "".join(f"{key} = {json.dumps(own[key])}\n" for key in file.constants)
        tables = (
            f'[mcp_servers.commonplace-{name}]\ncommand = "{command}"\nargs = {json.dumps(args)}\n{constants}'
            for name, args in commands.items()
        )
        return head + "\n".join(tables) + '\n[mcp_servers.commonplace-knowledge.env]\nMINE = "1"\n'
    document = json.loads(text)
    for part in file.parts:
        if isinstance(part, Servers):
            servers = document[part.key]
            del servers["commonplace"]
            for name, args in commands.items():
                servers[f"commonplace-{name}"] = part.entry([command, *args])
            servers["commonplace-knowledge"]["env"] = {"MINE": "1"}
        if isinstance(part, Words) and part.earlier:
            listed = part.listed(document)
            listed[listed.index("mcp__commonplace") :] = part.earlier
    return json.dumps(document, indent=2)


@pytest.mark.requirement("ONE-05.1")
@pytest.mark.parametrize("scope", InstallScope)
@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.name)
def test_an_earlier_installation_becomes_one_server(tmp_path: Path, host: Any, scope: InstallScope) -> None:  # noqa: ANN401
    """With what the user added to it; uninstalling then leaves nothing of either, and an older one goes as well."""
    home = tmp_path / "home"
    for upgrades in (True, False):
        root = tmp_path / f"upgrades {upgrades}"
        for directory in ("project", "user"):
            (root / directory).mkdir(parents=True)
        files = host.files(where(root, scope))
        plan = plan_install(files, OLD, home=home)
        apply([*plan.notes, *plan.files])
        for file in files:
            text = file.path.read_text()
            if "commonplace" in text:
                file.path.write_text(as_earlier(file, text))
                note = note_path(home, file.path)
                note.write_text(note.read_text().replace('"mcp__commonplace"', EARLIER_WORDS))
        if upgrades:
            plan = plan_install(files, OURS, home=home)
            apply([*plan.notes, *plan.files])
            texts = [file.path.read_text() for file in files]
            assert not [
                text for text in texts if "commonplace-workspace" in text or "commonplace-knowledge" in text
            ]
            (mine,) = [text for text in texts if "MINE" in text]
            assert OURS.command[0] in mine
            assert {change.action for change in plan_install(files, OURS, home=home).files} == {"keep"}
        plan = plan_uninstall(files, home=home)
        apply([*plan.files, *plan.notes])
        assert not [file.path for file in files if file.path.exists()]


def test_a_server_that_was_added_by_hand_stays(commonplace: CommandLine) -> None:
    """As by the guide of workspace memory: it runs commonplace from the PATH, under a name of earlier releases."""
    path = commonplace.directory / ".mcp.json"
    mine = {"command": "commonplace", "args": ["mcp", "workspace"]}
    path.write_text(json.dumps({"mcpServers": {"commonplace-workspace": mine}}))
    before = path.read_bytes()
    assert commonplace("install", "claude-code", "--profile", "full").status == 0
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["commonplace-workspace"] == mine
    assert servers["commonplace"]["args"] == ["mcp", "all", "--profile", "full", "--project"]
    assert commonplace("install", "claude-code").status == 0
    servers = json.loads(path.read_text())["mcpServers"]
    assert servers["commonplace"]["args"] == ["mcp", "all", "--profile", "agent", "--project"]
    assert commonplace("uninstall", "claude-code").status == 0
    assert path.read_bytes() == before


def test_what_others_added_behind_the_tables_of_codex_stays(commonplace: CommandLine) -> None:
    """And so does what a user added to ours while they are there."""
    path = commonplace.directory / ".codex" / "config.toml"
    assert commonplace("install", "codex").status == 0
    text = path.read_text()
    path.write_text(
        text.replace("required = true\n", "required = true\n# theirs\n", 1) + "\n[theirs]\na = 1\n"
    )

    assert commonplace("install", "codex").status == 0
    assert "# theirs" in path.read_text()
    assert commonplace("uninstall", "codex").status == 0

    assert tomllib.loads(path.read_text()) == {"theirs": {"a": 1}}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("a =", "expected TOML"),
        ("mcp_servers = 1", "mcp_servers: expected a table, got 1"),
        (
            '[mcp_servers.commonplace]\ncommand = "theirs"',
            "expected nothing or an earlier installation",
        ),
        ('mcp_servers = {theirs = {command = "x"}}', "expected TOML"),
    ],
)
def test_a_toml_file_that_would_be_damaged_is_refused(commonplace: CommandLine, held: str, said: str) -> None:
    """Nothing is written, not even the other file."""
    path = commonplace.directory / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(held)
    before = contents(commonplace.directory)
    done = commonplace("install", "codex")
    assert done.status == 1
    assert said in done.err
    assert done.err.endswith("nothing was written\n")
    assert contents(commonplace.directory) == before


def _handlers(document: Any, event: str) -> list[Any]:  # noqa: ANN401 - JSON
    groups = document["hooks"][event]
    return [handler for group in groups for handler in group.get("hooks", [group])]


@pytest.mark.parametrize(
    ("host", "servers", "hooks"),
    [
        ("cursor", (".cursor/mcp.json", "mcpServers"), (".cursor/hooks.json", "sessionStart")),
        ("vscode", (".vscode/mcp.json", "servers"), (".github/hooks/commonplace.json", "SessionStart")),
        ("gemini", (".gemini/settings.json", "mcpServers"), (".gemini/settings.json", "BeforeAgent")),
    ],
)
def test_the_files_have_the_form_that_the_host_documents(
    commonplace: CommandLine, host: str, servers: tuple[str, str], hooks: tuple[str, str]
) -> None:
    """Servers with a type, a command and its arguments; hooks with one command line and a time-out."""
    done = commonplace("install", host, "--butler", "jar vis", "--json")
    assert done.status == 0, done.err
    assert done.json["host"] == host
    entries = json.loads((commonplace.directory / servers[0]).read_text())[servers[1]]
    entry = entries["commonplace"]
    arguments = ["mcp", "all", "--profile", "agent", "--project"]
    assert (entry["command"], entry["args"]) == (str(commonplace.program), arguments)
    assert host == "gemini" or entry["type"] == "stdio"
    document = json.loads((commonplace.directory / hooks[0]).read_text())
    (handler,) = _handlers(document, hooks[1])
    assert handler["command"].endswith(f" --host {host} --butler 'jar vis'")
    assert host != "cursor" or (document["version"] == 1 and set(handler) == {"command", "timeout"})
    assert host == "cursor" or handler["type"] == "command"


def test_opencode_gets_its_servers_and_the_plugin(commonplace: CommandLine) -> None:
    """The plugin knows no butler but the project."""
    refused = commonplace("install", "opencode", "--butler", "jarvis")
    assert (refused.status, "--butler: expected no butler" in refused.err) == (1, True)
    assert commonplace("install", "opencode").status == 0
    path = commonplace.directory / "opencode.json"
    document = json.loads(path.read_text())
    assert document["mcp"] == {
        "commonplace": {
            "type": "local",
            "command": [str(commonplace.program), "mcp", "all", "--profile", "agent", "--project"],
            "enabled": True,
        }
    }
    assert document["plugin"] == [OPENCODE_PLUGIN.as_uri()]
    assert OPENCODE_PLUGIN.is_file()


def _there(home: Path, program: str) -> None:
    path = home / "bin" / program
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def test_without_a_host_the_ones_that_are_there_are_offered(commonplace: CommandLine) -> None:
    """Each is asked about; a dry run asks nothing."""

    def install(*options: str, stdin: bytes = b"") -> Done:
        return commonplace("install", *options, stdin=stdin, PATH=str(commonplace.home / "bin"))

    none = install()
    assert (none.status, "no host was found; name one of claude-code, codex" in none.err) == (1, True)
    _there(commonplace.home, "codex")
    (commonplace.home / ".gemini").mkdir()

    planned = install("--dry-run")
    assert planned.status == 0, planned.err
    assert f"create {commonplace.directory / '.codex/hooks.json'}" in planned.out
    assert f"create {commonplace.directory / '.gemini/settings.json'}" in planned.out
    done = install(stdin=b"n\ny\n")
    assert "Install into Codex (project)? [y/N]" in done.err
    assert [each.name for each in commonplace.directory.iterdir() if each.name != ".aegis"] == [".gemini"]
    assert install().out == "You chose no host; no file was changed.\n"

    offered = install(stdin=b"y\ny\nn\n")
    assert "Allow the account of Codex to turn sessions into facts and rules" in offered.err
    assert "codex consolidates sessions, at most 200,000 tokens a day" in offered.out
    assert "Allow the account" not in install(stdin=b"y\nn\n").err


@pytest.mark.requirement("FOL-01.6")
def test_an_installation_offers_to_follow_what_a_host_has(commonplace: CommandLine) -> None:
    """With the number of memories and one of them; a yes follows it, a no says how to do it later."""
    _there(commonplace.home, "codex")
    (commonplace.directory / "AGENTS.md").write_text(
        "# Deploys\n- Ask Ada before a deployment\n- Tag releases\n"
    )

    def install(stdin: bytes) -> Done:
        return commonplace("install", stdin=stdin, PATH=str(commonplace.home / "bin"))

    declined = install(b"y\nn\nn\n")
    assert 'with 2 memories such as "Ask Ada before a deployment"? It is read' in declined.err
    assert "AGENTS.md can be followed" in declined.out
    assert "No sources yet" in commonplace("sources", "list").out
    assert "AGENTS.md is followed from the next session on" in install(b"y\nn\ny\n").out
    (source,) = commonplace("sources", "list", "--json").json["sources"]
    assert (source["kind"], source["read_at"]) == ("instructions", None)
    assert "AGENTS.md" not in install(b"y\nn\n").out


def test_without_a_host_every_installation_is_offered_for_removal(
    commonplace: CommandLine, tmp_path: Path
) -> None:
    """A file that cannot be read stops none of the others; what stays installed elsewhere is named."""
    user = tmp_path / "user"
    user.mkdir()
    other = commonplace.at(tmp_path / "other")

    def uninstall(*options: str, stdin: bytes = b"") -> Done:
        return commonplace("uninstall", *options, stdin=stdin, HOME=str(user))

    assert uninstall().out == "commonplace is installed neither here nor anywhere else.\n"
    commonplace("install", "claude-code", HOME=str(user))
    commonplace("install", "gemini", "--scope", "user", HOME=str(user))
    other("install", "codex", HOME=str(user))
    (commonplace.directory / "opencode.json").write_text("broken")

    planned = uninstall("--dry-run")
    assert f"delete {commonplace.directory / '.mcp.json'}" in planned.out
    assert f"delete {user / '.gemini/settings.json'}" in planned.out
    assert (commonplace.directory / ".mcp.json").is_file()
    done = uninstall(stdin=b"y\nn\n")
    assert (done.status, done.err.count("[y/N]")) == (0, 2)
    assert "skipped opencode (project): " in done.out
    codex = [other.directory / ".codex" / name for name in ("config.toml", "hooks.json")]
    kept = [user / ".gemini/settings.json", *codex]
    assert all(str(each) in done.out.partition("commonplace is still installed in")[2] for each in kept)
    assert [not (commonplace.directory / each).exists() for each in (".mcp.json", ".claude")] == [True, True]
    assert uninstall(stdin=b"y\n").status == 0
    assert not (user / ".gemini").exists()


def test_a_project_whose_files_are_those_of_the_user_is_named(commonplace: CommandLine) -> None:
    """In the home directory, hooks of a project are hooks of all projects."""
    done = commonplace("install", "claude-code", "--dry-run", HOME=str(commonplace.directory))
    assert (
        f"Claude Code uses {commonplace.directory / '.claude/settings.json'} for all your projects."
        in done.out
    )
    assert "for all your projects" not in commonplace("install", "claude-code", "--dry-run").out


def test_uninstalling_names_a_permission_that_stays(commonplace: CommandLine) -> None:
    """The account of the host must not pay for sessions without its owner knowing."""
    (commonplace.home / "commonplace.toml").write_text('consolidation_model = "claude-code"\n')
    for host, reminded in (("gemini", False), ("claude-code", True)):
        commonplace("install", host)
        assert ("commonplace consolidation refuse" in commonplace("uninstall", host).out) is reminded


def test_without_a_terminal_the_model_is_named_and_not_chosen(commonplace: CommandLine) -> None:
    """Nobody is asked, and no setting is written."""
    _there(commonplace.home, "gemini")
    done = commonplace("install", "gemini", PATH=str(commonplace.home / "bin"))
    assert "commonplace consolidation allow gemini-cli" in done.out
    assert "turn sessions" not in done.err
    assert commonplace("consolidation", "refuse").out.startswith("no model had permission")


@pytest.mark.parametrize(
    ("host", "read"),
    [
        ("claude-code", lambda text: text),
        ("codex", lambda text: text),
        ("opencode", lambda text: text),
        ("gemini", lambda text: json.loads(text)["hookSpecificOutput"]["additionalContext"]),
        ("vscode", lambda text: json.loads(text)["hookSpecificOutput"]["additionalContext"]),
        ("cursor", lambda text: json.loads(text)["additional_context"]),
    ],
)
def test_the_output_of_a_hook_has_the_form_that_the_host_reads(host: str, read: Callable[[str], str]) -> None:
    """An empty text stays empty."""
    assert read(rendered("<ü>\n", host=host, event="SessionStart")) == "<ü>\n"
    assert rendered("", host=host, event="SessionStart") == ""


@pytest.mark.parametrize(
    ("host", "given"),
    [
        ("cursor", {"conversation_id": "c-1", "workspace_roots": ["{}"], "transcript_path": None}),
        ("vscode", {"sessionId": "s-1", "cwd": "{}", "hookEventName": "SessionStart"}),
        (
            "codex",
            {"session_id": "00000000-0000-4000-8000-000000000001", "cwd": "{}", "transcript_path": None},
        ),
    ],
)
def test_each_host_s_input_is_read(commonplace: CommandLine, host: str, given: dict[str, Any]) -> None:
    """Names of fields differ, ids need not be UUIDs, and a session may have no transcript."""
    directory = str(commonplace.directory)
    commonplace("workspace", "store", "The staging port is 5433")
    document = json.dumps(given | {"prompt": "staging port?"}).replace("{}", directory)
    done = commonplace("hook", "user-prompt", "--host", host, stdin=document.encode())
    assert "The staging port is 5433" in done.out, (commonplace.home / "logs/hooks.log").read_text()


def test_a_file_of_toml_that_needs_more_than_lines_is_refused(tmp_path: Path) -> None:
    """Our server stands in a table inside of another one, which an editor may have made."""
    files = HOSTS["codex"].files(where(tmp_path, InstallScope.PROJECT))
    files[0].path.parent.mkdir(parents=True)
    args = '["mcp", "all"]'
    files[0].path.write_text(f'[mcp_servers]\ncommonplace = {{command = "commonplace", args = {args}}}\n')
    with pytest.raises(SettingsError, match="can be changed line by line"):
        plan_uninstall(files, home=tmp_path)
