"""A process that is stopped while a model writes a digest: the next one makes the digest at once."""

import json
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from support.commands import CommandLine, CommandServer, clean_environment
from support.deadlines import DEADLINE_S
from support.model_api import Hangs, ModelApi, Says
from support.service import service_process

SAID = "I am allergic to peanuts."
CONVERSATION = json.dumps(
    {"conversation_id": "c-1", "messages": [{"role": "user", "content": SAID}]}
).encode()


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A model that hangs."""
    with ModelApi(Hangs()) as server:
        yield server


def variables(api: ModelApi) -> dict[str, Any]:
    """Return the settings that name the model."""
    return {"COMMONPLACE_MODEL": "openai:m", "COMMONPLACE_MODEL_BASE_URL": api.url}


def assert_the_next_one_makes_it(commonplace: CommandLine, api: ModelApi) -> None:
    """The digest waits, its energy was given back, and the next worker takes it."""
    waiting = commonplace("admin", "energy", "--json").json
    assert [one["state"] for one in waiting["waiting"]] == ["waiting"]
    assert waiting["energy"]["level"] == waiting["energy"]["capacity"]
    api.script(Says("The user is allergic to peanuts."))
    done = commonplace("admin", "energy", "--run", "--json", **variables(api)).json
    assert [one["outcome"] for one in done["caught_up"]["digests"]] == ["created"]


@pytest.mark.requirement("DIG-04.2")
def test_a_stopped_command_releases_its_claim(
    commonplace: CommandLine, command_server: CommandServer, api: ModelApi
) -> None:
    """Nobody waits for the claim to expire."""
    commonplace("apps", "register", "cal")
    with subprocess.Popen(
        [command_server.program, "apps", "ingest", "cal", "-"],
        cwd=commonplace.directory,
        env=clean_environment(commonplace.home, **variables(api)),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(CONVERSATION)
        process.stdin.close()
        api.wait_until_asked()
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert_the_next_one_makes_it(commonplace, api)


@pytest.mark.requirement("DIG-04.2")
def test_a_stopped_service_releases_its_claim(
    commonplace: CommandLine, command_server: CommandServer, api: ModelApi
) -> None:
    """It does not wait for the model."""
    commonplace("apps", "register", "cal")
    program = command_server.program
    with service_process(commonplace.home, "--no-worker", program=program, **variables(api)) as service:
        path = f"{service.url}/api/v1/apps/cal/conversations"
        with httpx2.Client(timeout=DEADLINE_S) as client:
            client.post(path, json={"conversationId": "c-1"}).raise_for_status()
            said = {"messages": [{"role": "user", "content": SAID}]}
            client.post(f"{path}/c-1/messages", json=said).raise_for_status()
            client.post(f"{path}/c-1/end").raise_for_status()
        api.wait_until_asked()
        service.signal(signal.SIGTERM)
        assert service.ended() == (0, "")
    assert_the_next_one_makes_it(commonplace, api)
