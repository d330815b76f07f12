"""The command line: what each command prints, and how it fails."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from commonplace.core.quoting import quoted
from support.commands import CommandLine, clean_environment
from support.streams import encode, init, result, says, session

JELLYFIN = "[MEMORY:timing:jellyfin] Takes 60s to start after restart"


def test_help_lists_every_command_without_loading_it(commonplace: CommandLine) -> None:
    """Each group is named with what it is for."""
    done = commonplace("--help")
    assert done.status == 0
    for name in ("demo", "know", "forget", "install", "backup", "doctor", "config", "admin"):
        assert f" {name} " in done.out
    assert "The memories one by one: ops, apps, workspace, knowledge." in done.out
    assert commonplace("--version").out.startswith("commonplace 0.")


@pytest.mark.parametrize(
    "command", [(), ("ops",), ("ops", "list"), ("knowledge", "entity", "get"), ("hook",)]
)
def test_every_command_has_a_short_help(commonplace: CommandLine, command: tuple[str, ...]) -> None:
    """It is the help."""
    short = commonplace(*command, "-h")
    assert (short.status, short.out) == (0, commonplace(*command, "--help").out)


@pytest.mark.parametrize(
    "arguments",
    [
        ["ops"],
        ["ops", "nothing"],
        ["ops", "edit"],
        ["ops", "edit", "x"],
        ["ops", "ingest", "--tier", "4"],
        ["ops", "add", "x", "--category", "misc"],
        ["ops", "list", "--category", "misc"],
        ["workspace", "store", "x", "--scope", "world"],
        ["nothing"],
    ],
)
def test_wrong_usage_is_status_2(commonplace: CommandLine, arguments: list[str]) -> None:
    """And nothing on standard output that a program would take for records."""
    done = commonplace(*arguments)
    assert done.status == 2
    assert not done.out.lstrip().startswith("{")


@pytest.mark.requirement("OPS-19.1", "OPS-07.2")
def test_a_transcript_on_standard_input_reaches_the_next_prompt(commonplace: CommandLine) -> None:
    """Piped in; read back within the budget that the variable sets."""
    data = session(JELLYFIN, *(f"[MEMORY:behavior:s{n}] {'word ' * 60}" for n in range(40)))
    done = commonplace("ops", "ingest", "--json", "-", stdin=data)
    assert done.status == 0
    (report,) = done.json["sessions"]
    assert report["session"]["status"] == "completed"
    assert [receipt["outcome"] for receipt in report["receipts"]] == ["created"] * 41
    usual = commonplace("ops", "context").out
    assert 7000 < len(usual) <= 8001
    more = commonplace("ops", "context", CLAUDEOPS_MEMORY_BUDGET="4000")
    assert 12_000 < len(more.out) <= 16_001
    assert (
        commonplace("ops", "context", "--json", CLAUDEOPS_MEMORY_BUDGET="4000").json["budget_tokens"] == 4000
    )
    assert "60s" in commonplace("ops", "context", "--service", "jellyfin", "--budget", "60").out


def test_receipts_are_for_people_too(commonplace: CommandLine, tmp_path: Path) -> None:
    """What became of each marker, and why."""
    file = tmp_path / "run.jsonl"
    file.write_bytes(session(JELLYFIN, "[MEMORY:misc] x"))
    done = commonplace("ops", "ingest", str(file))
    assert done.status == 0
    assert "created    memory [timing:jellyfin] Takes 60s to start after restart (0.7) #1\n" in done.out
    assert "rejected" in done.out
    assert "invalid category 'misc'" in done.out
    assert "session 1 tier 1: completed, 2 receipts" in done.out


def test_a_live_pipe_is_stored_as_it_comes(commonplace: CommandLine) -> None:
    """A marker is in the database while the session still runs, and killing the reader loses none."""
    with subprocess.Popen(
        [commonplace.program, "ops", "ingest", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=commonplace.directory,
        env=clean_environment(commonplace.home, PYTHONUNBUFFERED="1"),
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write(encode(init(), says(JELLYFIN)))
        reader.stdin.flush()
        assert b"created" in reader.stdout.readline()
        assert commonplace("ops", "list", "--json").json["count"] == 1
        reader.send_signal(signal.SIGKILL)
    assert commonplace("ops", "list", "--json").json["count"] == 1
    again = commonplace("ops", "ingest", "-", "--json", stdin=encode(init(), says(JELLYFIN), result()))
    assert again.status == 0
    assert commonplace("ops", "list", "--json").json["count"] == 1


@pytest.mark.requirement("OPS-13.1", "OPS-13.2", "OPS-13.3", "OPS-13.4", "OPS-13.5", "OPS-16.2")
def test_an_operator_curates(commonplace: CommandLine) -> None:
    """Add, edit, list, deactivate, delete; every record also as JSON."""
    added = commonplace(
        "ops", "add", "Needs VACUUM weekly", "--category", "maintenance", "--service", "postgres",
        "--confidence", "0.9", "--json",
    ).json  # fmt: skip
    (memory,) = added["memories"]
    assert (memory["service"], memory["confidence"], memory["active"], memory["session_id"]) == (
        "postgres", 0.9, True, None,
    )  # fmt: skip
    commonplace("ops", "add", "other", "--category", "timing")
    assert commonplace("ops", "edit", "1", "--observation", "Needs VACUUM daily").status == 0
    (edited,) = commonplace("ops", "edit", "1", "--confidence", "0.1", "--json").json["memories"]
    assert (edited["observation"], edited["active"]) == ("Needs VACUUM daily", False)
    assert commonplace("ops", "list", "--inactive", "--json").json["count"] == 1
    listed = commonplace("ops", "list", "--service", "general").out
    assert "other" in listed
    assert "VACUUM" not in listed
    assert commonplace("ops", "delete", "o:1", "2").out == "deleted o:1, o:2\n"
    assert commonplace("ops", "list", "--json").json == {"count": 0, "memories": []}
    assert commonplace("ops", "list").out == "No lessons.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ops", "edit", "7", "--confidence", "0.5"], "error: no lesson with id o:7\n"),
        (["ops", "edit", "7"], "error: edit: expected an observation or a confidence"),
        (["ops", "delete", "7"], "error: no lesson with id o:7\n"),
        (
            ["ops", "ingest", "missing.jsonl"],
            "error: missing.jsonl: cannot be read: No such file or directory\n",
        ),
        (["workspace", "store", "x" * 501], "error: text: expected text of 1 to 500"),
        (["workspace", "delete", "m-9"], 'error: no memory with id "m-9"'),
    ],
)
def test_an_error_is_one_line_and_status_1(
    commonplace: CommandLine, arguments: list[str], message: str
) -> None:
    """It names the field, what was expected and what came."""
    done = commonplace(*arguments)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1


def test_a_clamped_confidence_is_told(commonplace: CommandLine) -> None:
    """Beside the answer, which stays one JSON document."""
    added = commonplace("ops", "add", "x", "--category", "timing", "--confidence", "5", "--json")
    assert added.json["memories"][0]["confidence"] == 1.0
    assert added.err == "note: confidence 5 was clamped to 1.0\n"
    edited = commonplace("ops", "edit", "1", "--confidence=-3")
    assert edited.err == "note: confidence -3 was clamped to 0.0\n"
    assert commonplace("ops", "edit", "1", "--confidence", "0.5").err == ""


def test_a_file_that_is_no_transcript_is_told_briefly(commonplace: CommandLine) -> None:
    """Five rejected lines, each once, the number of the others, and the error."""
    done = commonplace("ops", "ingest", "-", stdin=b"garbage\n" * 30)
    assert done.status == 1
    assert done.out.count("not JSON") == 5
    assert "25 more lines were rejected" in done.out
    assert done.err.startswith("error: transcript: expected stream-json")
    assert done.err.count("\n") == 1


def test_only_a_usable_file_is_trusted(commonplace: CommandLine, tmp_path: Path) -> None:
    """Trust that ends twice says so."""
    file = tmp_path / "commonplace.toml"
    missing = commonplace("admin", "trust", str(tmp_path))
    assert missing.err == (
        f"error: directory: expected a directory with a commonplace.toml, got {quoted(tmp_path)}\n"
    )
    assert 'got "/' in commonplace("admin", "trust", ".").err
    for content, fault in (
        ("bogus = 1", 'unknown key "bogus"'),
        ("not toml [[", "is not TOML"),
        ("memory_budget = -1", "expected a number of at least 0, got -1"),
    ):
        file.write_text(content)
        done = commonplace("admin", "trust", str(tmp_path))
        assert (done.status, fault in done.err) == (1, True)
    file.write_text("memory_budget = 5")
    assert commonplace("admin", "trust", str(tmp_path)).out == f"{file} is trusted until it changes\n"
    assert commonplace("admin", "trust", str(tmp_path), "--revoke").out == f"{file} is no longer trusted\n"
    assert commonplace("admin", "trust", str(tmp_path), "--revoke").out == f"{file} was not trusted\n"


def test_the_permission_to_consolidate_is_taken_back_where_it_was_given(
    commonplace: CommandLine, tmp_path: Path
) -> None:
    """A home without the permission is left as it is; a missing program is named without a setting."""
    file = commonplace.home / "commonplace.toml"
    refused = commonplace("consolidation", "refuse")
    assert refused.out == "no model had permission to consolidate sessions; nothing changed\n"
    assert not file.exists()
    no_claude = commonplace("consolidation", "allow", PATH=str(tmp_path))
    assert no_claude.err.startswith("error: the model claude-code needs the program `claude`")
    assert not file.exists()


def test_erasing_needs_one_selection(commonplace: CommandLine) -> None:
    """The error names the options."""
    expected = "error: expected one of --subject, --source and --session, or --tenant, got "
    assert commonplace("erase").err == f"{expected}none of them\n"
    both = commonplace("erase", "--subject", "Bea", "--session", "s-1")
    assert both.err == f"{expected}--subject and --session\n"


def test_a_question_needs_no_quotes(commonplace: CommandLine) -> None:
    """The words of `know` are one query."""
    commonplace("ops", "add", "Needs VACUUM weekly", "--category", "maintenance", "--service", "postgres")
    found = commonplace("know", "postgres", "vacuum", "--json").json
    assert found["query"] == "postgres vacuum"
    assert [item["text"] for item in found["items"]] == ["Needs VACUUM weekly"]


def test_a_search_shows_the_memories_that_open(commonplace: CommandLine, tmp_path: Path) -> None:
    """The other memories say why they do not; if all fail, so does the search."""
    database = commonplace.home / "commonplace.db"
    database.unlink()
    database.mkdir()
    commonplace("workspace", "store", "The vault is in Bern")
    found = commonplace("know", "vault", "--json")
    assert found.status == 0, found.err
    assert [item["text"] for item in found.json["items"]] == ["The vault is in Bern"]
    assert "commonplace.db" in found.json["problems"]["operational"]
    assert "commonplace.db" in found.json["problems"]["apps"]
    in_the_way = tmp_path / "in-the-way"
    in_the_way.write_text("")
    told = commonplace("know", "vault", COMMONPLACE_HOME=str(in_the_way / "home"))
    assert str(in_the_way) in told.out
    assert "Traceback" not in told.err


def test_bad_settings_are_one_line_too(commonplace: CommandLine) -> None:
    """Whichever command reads them."""
    for command in (["ops", "list"], ["workspace", "search"], ["config", "show"], ["doctor"]):
        done = commonplace(*command, COMMONPLACE_HOEM="x")
        assert (done.status, done.err.count("\n")) == (1, 1)
        assert 'did you mean "COMMONPLACE_HOME"' in done.err


def test_a_home_that_cannot_be_written_is_named(commonplace: CommandLine, tmp_path: Path) -> None:
    """One line, whichever command meets the disk; a missing home is created for its owner alone."""
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    (tmp_path / "commonplace.toml").write_text("memory_budget = 5")
    for command in (["admin", "trust", str(tmp_path)], ["admin", "clock", "--confirm"], ["ops", "list"]):
        done = commonplace(*command, COMMONPLACE_HOME=str(in_the_way / "home"))
        assert (done.status, done.err.count("\n")) == (1, 1), done.err
        assert str(in_the_way) in done.err
    deep = tmp_path / "a" / "b"
    assert commonplace("admin", "clock", "--confirm", COMMONPLACE_HOME=str(deep)).status == 0
    assert [oct(path.stat().st_mode & 0o777) for path in (deep, deep.parent)] == ["0o700", "0o700"]


def test_settings_are_shown_with_their_origin(commonplace: CommandLine) -> None:
    """And without passwords."""
    shown = commonplace(
        "config", "show", "--json", COMMONPLACE_POSTGRES_URL="postgresql://u:hunter2@h/d"
    ).json
    assert shown["home"] == {"value": str(commonplace.home), "origin": "environment COMMONPLACE_HOME"}
    assert shown["postgres_url"]["value"] == "postgresql://u:***@h/d"
    assert shown["memory_budget"]["origin"] == "default"
    assert "memory_budget" in commonplace("config", "show").out


@pytest.mark.requirement("WSP-02.1", "WSP-05.1", "WSP-05.2", "WSP-06.2", "WSP-07.2")
def test_the_workspace_from_the_command_line(commonplace: CommandLine) -> None:
    """Store, search, the block, delete."""
    store = [
        "workspace",
        "store",
        "PostgreSQL listens on port 5433",
        "--tag",
        "infra",
        "--tag",
        "db",
        "--json",
    ]
    assert commonplace(*store).json == {"ok": True, "id": "m-1", "short_id": "w:1", "pruned": []}
    assert commonplace("workspace", "store", "User prefers tabs").out == "stored m-2\n"
    found = commonplace("workspace", "search", "postgres", "--json").json
    assert found["count"] == 1
    assert found["memories"][0]["tags"] == ["infra", "db"]
    assert commonplace("workspace", "search", "--tag", "db", "--json").json["count"] == 1
    block = commonplace("workspace", "context", "--message", "which port for postgresql?").out
    assert block == "[Memories]\n- (m-1, infra) PostgreSQL listens on port 5433\n"
    assert commonplace("workspace", "delete", "w:1").out == "deleted m-1\n"
    assert (commonplace.directory / ".aegis/memory/memories.jsonl").read_bytes().count(b"\n") == 1


def test_a_store_into_a_file_that_is_too_full_names_few_of_the_deleted(commonplace: CommandLine) -> None:
    """``--json`` names all."""
    (commonplace.directory / "agent.json").write_text('{"memory": {"max_total": 2}}')
    line = '{"id":"m-%d","scope":"user","text":"x","tags":[],"ts":"2026-02-26T12:00:00Z"}\n'
    memories = commonplace.directory / ".aegis" / "memory" / "memories.jsonl"
    memories.parent.mkdir(parents=True)
    memories.write_text("".join(line % number for number in range(1, 15)))
    done = commonplace("workspace", "store", "later")
    named = ", ".join(f"m-{number}" for number in range(1, 11))
    assert done.out == f"stored m-15\ndeleted 13 old memories to make room: {named}, …\n"
    memories.write_text("".join(line % number for number in range(16, 30)))
    assert len(commonplace("workspace", "store", "later", "--json").json["pruned"]) == 13


def test_a_search_of_the_workspace_takes_a_limit(commonplace: CommandLine) -> None:
    """The newest facts stay."""
    for text in ("one", "two", "three"):
        commonplace("workspace", "store", text)
    found = commonplace("workspace", "search", "--limit", "2", "--json").json
    assert [each["text"] for each in found["memories"]] == ["three", "two"]


def test_a_memory_that_cannot_answer_is_not_called_empty(commonplace: CommandLine) -> None:
    """Whether there are memories is not known then. The reason is printed once."""
    done = commonplace("know", COMMONPLACE_POSTGRES_URL="postgresql://nobody@127.0.0.1:1/none")
    assert (done.status, done.err, done.out.count("cannot connect to PostgreSQL")) == (0, "", 1)
    assert "No memories yet." not in done.out


def test_an_item_of_a_search_is_one_paragraph(commonplace: CommandLine, knowledge_url: str) -> None:
    """An episode has lines of its own, which would look like further items."""
    episode = "User: Which port?\n\nAssistant: 5433."
    commonplace(
        "knowledge", "store-episode", episode, "--butler", "dev", COMMONPLACE_POSTGRES_URL=knowledge_url
    )
    assert (
        " User: Which port? Assistant: 5433.\n"
        in commonplace("know", COMMONPLACE_POSTGRES_URL=knowledge_url).out
    )


@pytest.mark.parametrize("format_", [[], ["--json"]])
def test_what_is_rejected_prints_no_secret(commonplace: CommandLine, format_: list[str]) -> None:
    """A marker of no category and a line that was cut: on standard output, as JSON, and in the log beside it."""
    cut = encode(says("The key is sk-abc123def456", message_id="msg_1")).partition(b"456")[0]
    wrong = encode(init(), says("[MEMORY:wrong:caddy] The password: hunter2secret9 works"))
    done = commonplace("ops", "ingest", *format_, "-", stdin=wrong + cut)
    assert "[MEMORY:wrong:caddy] The [hidden: password]" in done.out
    assert "[hidden: API key]" in done.out
    assert ("hidden" in done.err) == bool(format_)
    assert "hunter2secret9" not in done.out + done.err
    assert "sk-abc" not in done.out + done.err


def test_a_secret_needs_the_operators_word(commonplace: CommandLine) -> None:
    """Refused without repeating it, in both memories; stored when asked for."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    for command in (["workspace", "store", secret], ["ops", "add", secret, "--category", "behavior"]):
        refused = commonplace(*command)
        assert refused.status == 1
        assert "appears to contain a secret" in refused.err
        assert secret not in refused.err
        assert commonplace(*command, "--allow-secrets").status == 0


def test_a_reader_that_goes_away_is_no_traceback(commonplace: CommandLine) -> None:
    """As in ``commonplace ops list | head -1``."""
    data = session(*(f"[MEMORY:behavior:s{n}] number {n} of many" for n in range(200)))
    commonplace("ops", "ingest", "-", stdin=data)
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [commonplace.program, "ops", "list"],
        stdout=write_end,
        stderr=subprocess.PIPE,
        cwd=commonplace.directory,
        env=clean_environment(commonplace.home),
        check=False,
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")


def test_the_doctor_uses_every_part(commonplace: CommandLine) -> None:
    """And leaves nothing behind in them."""
    commonplace("workspace", "store", "kept")
    done = commonplace("doctor", "--json")
    assert done.status == 0, done.out
    assert [check["part"] for check in done.json["checks"]] == [
        "operational memory", "app memory", "workspace memory", "project", "clock", "embedding", "judge",
        "reranker", "second opinion", "language model", "PostgreSQL", "knowledge memory", "sync", "service",
    ]  # fmt: skip
    assert all(check["ok"] for check in done.json["checks"])
    assert commonplace("ops", "list", "--json").json["count"] == 0
    assert commonplace("workspace", "search", "--json").json["count"] == 1
    assert sorted(path.name for path in commonplace.directory.iterdir()) == [".aegis"]


def test_the_doctor_says_what_is_broken_and_goes_on(new_commonplace: CommandLine) -> None:
    """One line a part, exit status 1."""
    new_commonplace.home.mkdir()
    (new_commonplace.home / "commonplace.db").write_bytes(b"no database" * 200)
    done = new_commonplace("doctor", "--json", COMMONPLACE_EMBEDDING_MODEL="/nowhere")
    assert done.status == 1
    found = {check["part"]: check for check in done.json["checks"]}
    assert "not a database" in found["operational memory"]["found"]
    assert "/nowhere" in found["embedding"]["found"]
    assert found["PostgreSQL"]["ok"]


def test_logs_go_to_standard_error(commonplace: CommandLine) -> None:
    """Standard output stays one JSON document."""
    done = commonplace("ops", "ingest", "-", "--json", stdin=session("[MEMORY:misc] x"))
    assert json.loads(done.out)
    assert "invalid category 'misc'" in done.err


def test_a_marker_is_printed_as_it_stands(commonplace: CommandLine) -> None:
    """Names of emoji between colons and what looks like markup among it."""
    data = session("[MEMORY:behavior:x] logs [EVENT:warning:caddy] at :fire: and [bold]this[/]")
    for done in (commonplace("ops", "ingest", "-", stdin=data), commonplace("ops", "list")):
        assert "logs [EVENT:warning:caddy] at :fire: and [bold]this[/]" in " ".join(done.out.split())


def test_a_memory_cannot_drive_the_terminal(commonplace: CommandLine) -> None:
    """Neither in a receipt, nor in a table, nor in the block."""
    data = session("[MEMORY:behavior:x] title \x1b]0;owned\x07 set")
    for done in (
        commonplace("ops", "ingest", "-", stdin=data),
        commonplace("ops", "list"),
        commonplace("ops", "context"),
    ):
        assert "owned" in done.out
        assert "\x1b" not in done.out
        assert "\x07" not in done.out


@pytest.mark.requirement("JDG-07.2")
def test_a_note_names_the_note_that_it_corrects(commonplace: CommandLine) -> None:
    """Both commands that store notes do so, and refuse an id that was replaced with one line."""
    assert commonplace("workspace", "store", "Tests need Redis").out == "stored m-1\n"
    assert commonplace("workspace", "store", "Tests need SQLite", "--replaces", "m-1").out == (
        "stored m-2\nIt replaces m-1.\n"
    )
    assert "It replaces w:2." in commonplace("add", "note", "No test needs a server", "--replaces", "w:2").out
    again = commonplace("workspace", "store", "Tests need Redis", "--replaces", "m-1")
    assert (again.status, again.out) == (1, "")
    assert again.err == "error: The note m-1 was replaced by m-3 already. Replace m-3.\n"
