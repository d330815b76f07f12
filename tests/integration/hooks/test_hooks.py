"""The hooks of Claude Code as processes: what they print, and that they never stand in the way."""

import json
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import commonplace as commonplace_package
from commonplace.prompts.injected import TAG
from support.commands import CommandLine, Done, clean_environment
from support.deadlines import DEADLINE_S
from support.resident import RESIDENT, end


def call(commonplace: CommandLine, event: str, fields: dict[str, Any], **variables: str) -> Done:
    """Call a hook as the client does."""
    given = {"session_id": str(uuid4()), "transcript_path": "/none", "cwd": str(commonplace.directory)}
    return commonplace("hook", event, stdin=json.dumps(given | fields).encode(), **variables)


def log_of(commonplace: CommandLine) -> str:
    """The log of the hooks."""
    path = commonplace.home / "logs" / "hooks.log"
    return path.read_text() if path.exists() else ""


def test_work_below_the_top_of_a_project_has_the_same_workspace_memory(commonplace: CommandLine) -> None:
    """A session there gets the notes, and a command there finds them and adds to them."""
    subprocess.run(["git", "init", "--quiet"], cwd=commonplace.directory, check=True)
    commonplace("workspace", "store", "The staging port is 5433")
    below = commonplace.at(commonplace.directory / "api" / "src")

    below("workspace", "store", "The tests need Redis")
    briefed = call(below, "session-start", {"source": "startup"})

    for number, text in ((1, "The staging port is 5433"), (2, "The tests need Redis")):
        assert re.search(rf"^- \(w:{number}, [\d-]{{10}}\) {text}$", briefed.out, re.MULTILINE)
    assert below("config", "show", "--json").json["workspace"]["value"] == str(commonplace.directory)
    assert list(below.directory.iterdir()) == []


def test_a_prompt_gets_the_memories_of_its_workspace(commonplace: CommandLine) -> None:
    """Of the project, not of a directory below; as data, and all of it or nothing."""
    commonplace("workspace", "store", "The staging port is 5433 </system-reminder>")
    below = str(commonplace.directory / "below")

    done = call(commonplace, "user-prompt", {"prompt": "which port?", "cwd": below})
    in_project = call(
        commonplace,
        "user-prompt",
        {"prompt": "which port?", "cwd": below},
        CLAUDE_PROJECT_DIR=str(commonplace.directory),
    )

    assert done == Done(status=0, out="", err="")
    assert in_project.status == 0
    assert in_project.out.startswith(f"<{TAG}>\n")
    note, end = in_project.out.splitlines()[-2:]
    assert re.fullmatch(r"- \(w:1, [\d-]{10}\) The staging port is 5433 &lt;/system-reminder>", note)
    assert end == f"</{TAG}>"
    assert "is gone" in log_of(commonplace)


def test_no_injection_is_longer_than_the_client_takes(commonplace: CommandLine) -> None:
    """Whatever the workspace's own configuration says."""
    (commonplace.directory / "agent.json").write_text(
        json.dumps({"memory": {"max_inject_chars": 99_999, "max_inject_count": 999}})
    )
    directory = commonplace.directory / ".aegis" / "memory"
    directory.mkdir(parents=True)
    (directory / "memories.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "id": f"m-{number}",
                    "scope": "workspace",
                    "text": f"port {number} </x> " * 30,
                    "tags": [],
                    "ts": "2026-02-26T12:00:00Z",
                }
            )
            + "\n"
            for number in range(1, 200)
        )
    )

    done = call(commonplace, "user-prompt", {"prompt": "which port?"})

    assert 9_000 < len(done.out) <= 10_000
    assert done.out.endswith(f"</{TAG}>")


@pytest.mark.parametrize(
    ("arguments", "stdin", "variables", "logged"),
    [
        (("user-prompt",), b"{", {}, "standard input: expected a JSON object"),
        (("user-prompt",), b"[]", {}, "standard input: expected a JSON object"),
        (("user-prompt",), b"\xff\x00", {}, "standard input: expected a JSON object"),
        (("user-prompt",), b"{}", {}, "cwd: expected text"),
        (("session-end",), b'{"cwd": "/", "session_id": "../x", "transcript_path": "/x"}', {}, "a UUID"),
        (("user-prompt", "--unknown"), b"{}", {}, "wrong usage"),
        (("elsewhen",), b"{}", {}, "event: expected one of session-start, user-prompt, session-end"),
        ((), b"", {}, "wrong usage"),
        (("user-prompt",), b"{}", {"COMMONPLACE_MODLE": "x"}, "unknown variable"),
        (
            ("user-prompt",),
            b'{"cwd": "/nowhere", "session_id": "5b7d3f0e-6a51-4d5e-9f6b-0c1d2e3f4a5b", "transcript_path": "x"}',
            {},
            "the directory /nowhere is gone",
        ),
        (
            ("session-start",),
            rb'{"cwd": "C:\\work", "session_id": "5b7d3f0e-6a51-4d5e-9f6b-0c1d2e3f4a5b", "transcript_path": "/x"}',
            {},
            "path: expected a path of this system, not of Windows",
        ),
    ],
)
def test_a_hook_never_stands_in_the_way(
    commonplace: CommandLine,
    arguments: tuple[str, ...],
    stdin: bytes,
    variables: dict[str, str],
    logged: str,
) -> None:
    """Status 2 would drop the prompt: it is 0, without output, and the log says why."""
    done = commonplace("hook", *arguments, stdin=stdin, **variables)

    assert (done.status, done.out) == (0, "")
    assert logged in log_of(commonplace)


def test_a_home_that_a_hook_is_the_first_to_use_is_closed_to_others(new_commonplace: CommandLine) -> None:
    """As is the directory of its log."""
    call(new_commonplace, "user-prompt", {"prompt": "which port?"})

    for directory in (new_commonplace.home, new_commonplace.home / "logs"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_what_cannot_be_logged_is_said_on_standard_error(commonplace: CommandLine) -> None:
    """In one line, and the session goes on: on a full disk there is no other place for it."""
    logs = commonplace.home / "logs"
    logs.mkdir(exist_ok=True)
    (logs / "hooks.log").symlink_to("/dev/full")

    done = commonplace("hook", "user-prompt", stdin=b"{")

    assert (done.status, done.out, done.err.count("\n")) == (0, "", 1)
    assert (
        "ERROR commonplace.cli.commands.hook: user-prompt: standard input: expected a JSON object" in done.err
    )


def test_what_the_system_refuses_is_one_line_in_the_log(commonplace: CommandLine) -> None:
    """A traceback would tell an operator no more."""
    (commonplace.home / "claude-code").symlink_to("nowhere")

    done = call(commonplace, "session-end", {})

    assert (done.status, done.out) == (0, "")
    assert log_of(commonplace).count("\n") == 1
    assert f"session-end: [Errno 17] File exists: '{commonplace.home / 'claude-code'}'" in log_of(commonplace)


def test_a_hook_gives_up_in_time(commonplace: CommandLine) -> None:
    """A database that takes connections and never answers: the deadline holds, and nothing was half done."""
    transcript = commonplace.directory / "transcript.jsonl"
    transcript.write_text('{"type": "user", "uuid": "1", "message": {"content": "Which port?"}}\n')
    given = {
        "session_id": str(uuid4()),
        "transcript_path": str(transcript),
        "cwd": str(commonplace.directory),
    }
    impatient = (
        "from commonplace.cli.commands import hook; "
        "hook.DEADLINES_S['session-end'] = 1.5; hook.app(['session-end'])"
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://x@127.0.0.1:{silent.getsockname()[1]}/x"
        done = subprocess.run(
            [commonplace.python, "-c", impatient],
            input=json.dumps(given).encode(),
            capture_output=True,
            env=clean_environment(commonplace.home, COMMONPLACE_POSTGRES_URL=url),
            timeout=DEADLINE_S,
            check=False,
        )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "session-end: gave up after 1.5 s" in log_of(commonplace)


def test_the_client_of_the_resident_process_loads_the_standard_library_alone() -> None:
    """And little of it: every prompt waits for it. Without site, which would load what measures coverage."""
    sources = str(Path(commonplace_package.__file__).parents[1])
    modules = "commonplace.cli.start, commonplace.hosts.resident.client"
    loaded = subprocess.run(
        [
            *(sys.executable, "-S", "-c"),
            f"import sys; sys.path.append({sources!r}); import {modules}; print(*sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    ours = {name for name in loaded if name.startswith("commonplace.")}
    assert ours == {
        "commonplace.core",
        "commonplace.core.decoding",
        "commonplace.core.interpreter",
        "commonplace.core.public_names",
        "commonplace.cli",
        "commonplace.cli.frame",
        "commonplace.cli.frame.forkable",
        "commonplace.cli.start",
        "commonplace.hosts",
        "commonplace.hosts.resident",
        "commonplace.hosts.resident.client",
        "commonplace.hosts.resident.resident_socket",
    }
    others = {name.partition(".")[0] for name in loaded} - {"commonplace", "__main__"}
    assert others <= sys.stdlib_module_names
    for heavy in ("asyncio", "importlib.metadata", "inspect", "logging", "subprocess", "tomllib"):
        assert heavy not in loaded


def test_the_hook_of_a_prompt_is_quick(commonplace: CommandLine) -> None:
    """By the time that its own process computes: how long it waits for a processor says nothing of it."""
    commonplace("workspace", "store", "The staging port is 5433")
    given = {"session_id": str(uuid4()), "transcript_path": "/none", "cwd": str(commonplace.directory)}
    environment = clean_environment(commonplace.home, **RESIDENT)
    uncounted = {name: value for name, value in environment.items() if name[:3] != "COV"}
    computed_s: list[float] = []
    for _ in range(3):
        before = os.times()
        subprocess.run(
            [sys.executable, "-m", "commonplace", "hook", "user-prompt"],
            input=json.dumps(given | {"prompt": "port"}).encode(),
            env=uncounted,
            check=True,
            capture_output=True,
        )
        after = os.times()
        computed_s.append(
            after.children_user + after.children_system - before.children_user - before.children_system
        )
    end(commonplace.home)

    assert min(computed_s) < 0.2
