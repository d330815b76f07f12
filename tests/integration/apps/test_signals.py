"""A process that is stopped while a model writes a digest: the next one makes the digest at once."""

import json
import signal
import subprocess
from collections.abc import Iterator

import pytest

from support.commands import COMMAND, CommandLine, clean_environment
from support.deadlines import DEADLINE_S
from support.model_api import Hangs, ModelApi, Says

SAID = "I am allergic to peanuts."
CONVERSATION = json.dumps(
    {"conversation_id": "c-1", "messages": [{"role": "user", "content": SAID}]}
).encode()


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A model that hangs."""
    with ModelApi(Hangs()) as server:
        yield server


def variables(api: ModelApi) -> dict[str, str]:
    """Return the settings that name the model."""
    return {"COMMONPLACE_MODEL": "openai:m", "COMMONPLACE_MODEL_BASE_URL": api.url}


def assert_the_next_one_makes_it(commonplace: CommandLine, api: ModelApi) -> None:
    """The digest waits, its energy was given back, and the next worker takes it."""
    waiting = commonplace("apps", "energy", "--json").json
    assert [one["state"] for one in waiting["waiting"]] == ["waiting"]
    assert waiting["energy"]["level"] == waiting["energy"]["capacity"]
    api.script(Says("The user is allergic to peanuts."))
    done = commonplace("apps", "energy", "--run", "--json", **variables(api)).json
    assert [one["outcome"] for one in done["caught_up"]["digests"]] == ["created"]


@pytest.mark.requirement("DIG-04.2")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_command_releases_its_claim(
    commonplace: CommandLine, api: ModelApi, number: signal.Signals, status: int
) -> None:
    """Nobody waits for the claim to expire."""
    commonplace("apps", "register", "cal")
    with subprocess.Popen(
        [COMMAND, "apps", "ingest", "cal", "-"],
        cwd=commonplace.directory,
        env=clean_environment(commonplace.home, **variables(api)),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(CONVERSATION)
        process.stdin.close()
        api.wait_until_asked()
        process.send_signal(number)
        assert process.wait(DEADLINE_S) == status
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert_the_next_one_makes_it(commonplace, api)
