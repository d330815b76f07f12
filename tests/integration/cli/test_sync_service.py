"""Three homes that sync over ``commonplace serve``, with commands alone."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.commands import CommandLine, CommandServer
from support.database_stock import DatabaseStock
from support.homes import UsedHome
from support.service import ServiceProcess, service_process
from support.sync_commands import CommandDevice

pytestmark = pytest.mark.requirement("SYN-16.3")

NAMES = ("laptop", "desktop", "phone")
NEW = "another good passphrase"


@pytest.fixture
async def databases(knowledge_databases: DatabaseStock) -> AsyncIterator[list[str]]:
    """The URLs of four databases, the first one for the service."""
    async with AsyncExitStack() as stack:
        yield [(await stack.enter_async_context(knowledge_databases.lend())).url for _ in range(4)]


@pytest.fixture
def carrier(
    command_server: CommandServer, databases: list[str], used_home: UsedHome, tmp_path: Path
) -> CommandDevice:
    """The home of the service, with a token for the devices in ``token``."""
    home = tmp_path / "service"
    used_home.lend(home)
    service = CommandDevice(CommandLine(tmp_path, home, command_server), databases[0])
    service("token", "create", "--role", "admin", "--name", "the service needs one")
    secret = service("token", "create", "--role", "writer", "--name", "devices", "--json").json["secret"]
    token = tmp_path / "token"
    token.write_text(f"{secret}\n")
    token.chmod(0o600)
    return service


@pytest.fixture
def service(carrier: CommandDevice, command_server: CommandServer) -> Iterator[ServiceProcess]:
    """The service as it runs."""
    words = ("--require-token", "--no-worker")
    with service_process(
        carrier.home, *words, program=command_server.program, **carrier.variables
    ) as running:
        yield running


@pytest.fixture
def devices(
    service: ServiceProcess,
    command_server: CommandServer,
    databases: list[str],
    used_home: UsedHome,
    tmp_path: Path,
) -> list[CommandDevice]:
    """Three homes, each with a fact and a lesson of its own, that have joined one home at the service."""
    made: list[CommandDevice] = []
    for name, database in zip(NAMES, databases[1:], strict=True):
        used_home.lend(tmp_path / name)
        device = CommandDevice(CommandLine(tmp_path, tmp_path / name, command_server), database)
        device("add", "fact", "Anna", f"key of the {name}", f"The third stone hides the key of the {name}")
        device.learn(name)
        verb = "join" if made else "init"
        device("sync", verb, service.url, "--name", name, "--token-file", str(tmp_path / "token"))
        made.append(device)
    return made


def sync(*devices: CommandDevice) -> None:
    """Sync devices, one after the other."""
    for each in devices:
        each("sync")


@pytest.mark.long
def test_three_homes_are_the_same_over_a_service(
    devices: list[CommandDevice], carrier: CommandDevice, tmp_path: Path
) -> None:
    """In whatever order they sync; an erasure reaches all, a lost device none, and one that leaves keeps its own."""
    laptop, desktop, phone = devices
    sync(laptop, phone, desktop)
    phone.learn("later")
    sync(desktop, phone, laptop, desktop)
    for kind, count in (("lessons", 4), ("facts", 3)):
        texts = [each.texts(kind) for each in devices]
        assert texts[0] == texts[1] == texts[2]
        assert len(texts[0]) == count

    desktop("erase", "--subject", "third stone", "--yes")
    sync(desktop, laptop, phone, desktop, laptop)
    assert [each.texts("facts") for each in devices] == [[], [], []]
    (erasure,) = laptop("sync", "status", "--json").json["erasures"]
    assert (erasure["count"], erasure["waiting"]) == (3, [])
    for each in tmp_path.rglob("*"):
        if each.is_file():
            assert b"third stone" not in each.read_bytes(), each

    laptop("sync", "revoke", "phone", passphrase=NEW)
    phone.learn("forged")
    assert "revoked" in phone.refused("sync")
    laptop.learn("kept")
    sync(laptop, desktop)
    assert desktop.lessons() == laptop.lessons()
    assert len(laptop.lessons()) == 5

    desktop.learn("last")
    desktop("sync", "leave")
    assert "does not sync" in desktop.refused("sync")
    sync(laptop)
    assert desktop.lessons() == laptop.lessons()
    states = {each["name"]: each["departure"] for each in laptop("sync", "status", "--json").json["devices"]}
    assert states == {"laptop": None, "desktop": "left", "phone": "revoked"}
    files = [each for each in (carrier.home / "sync-files").rglob("*") if each.is_file()]
    assert not [each for each in files if b"takes 60s" in each.read_bytes()], "the service reads nothing"
