"""An upgrade says what it cannot take back, the way back works, and an earlier release harms nothing."""

import hashlib
import re
from pathlib import Path

import pytest

from commonplace.core.errors import FileTooNewError
from commonplace.core.settings import Settings
from commonplace.projects.registry_file import RegistryFile
from commonplace.services.mirrors.registry import MirrorRegistry
from commonplace.services.sources.registry import SourceRegistry
from commonplace.storage.backup import home_upgrade
from commonplace.storage.backup.home_upgrade import pending_upgrades, upgrade_home
from commonplace.storage.backup.taking import DIRECTORY
from commonplace.storage.migrations.runner import migrate_sqlite
from support.heritage import Heritage, items_of
from support.releases import Installation

REFUSED = r"has schema revision .* supports only revisions up to .* commonplace restore --replace FILE"


def files_of(home: Path) -> dict[str, str]:
    """Return the digests of the files of a home that hold memories; those of a database server change by themselves."""
    return {
        str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in home.rglob("*")
        if path.is_file() and "postgres" not in path.parts and "models" not in path.parts
        if path.suffix not in {".lock", ".db-shm", ".db-wal"}
    }


@pytest.mark.requirement("UPG-02.1", "UPG-02.2", "UPG-02.3", "UPG-03.1")
@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_upgrade_and_the_way_back(
    old: Installation, home: Path, place: Path, heritage: Heritage, releases: dict[str, Path]
) -> None:
    """The list changes nothing; one backup holds all; the earlier release refuses, and restores that backup."""
    before = files_of(home)
    old.replace(releases["next"])
    check = old.do(home, "admin", "upgrade", "--check")
    assert check.out.count("with a backup") == 3
    assert "the only way back is a backup from before the upgrade" in check.out
    assert files_of(home) == before

    upgraded = old.do(home, "export", str(place / "after.jsonl"))
    assert re.match(
        r"Upgrading the tables of .* and knowledge memory after a backup in .*/backups\. ", upgraded.err
    )
    assert "to go back, install the earlier release and run `commonplace restore --replace`" in upgraded.err
    assert items_of(place / "after.jsonl") == items_of(heritage.export)
    (backup,) = (home / DIRECTORY).iterdir()

    old.replace(heritage.release)
    after = files_of(home)
    for command in (("list", "lessons"), ("list", "facts")):
        refused = old.run(home, *command)
        assert (refused.status, refused.out) == (1, "")
        assert re.search(REFUSED, refused.err), refused.err
    assert files_of(home) == after

    old.do(home, "restore", "--replace", str(backup))
    old.do(home, "export", str(place / "back.jsonl"))
    assert items_of(place / "back.jsonl") == items_of(heritage.export)
    imported = old.do(home, "import", str(place / "after.jsonl"), "--from", "jsonl")
    assert imported.out.startswith("jsonl: 0 new, 0 replaces, 0 held, 8 known, ")


@pytest.mark.requirement("UPG-02.2", "UPG-03.1")
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_server_with_a_url(
    old: Installation, place: Path, postgres_url: str, heritage: Heritage, releases: dict[str, Path]
) -> None:
    """It gets no backup, which the list and the upgrade say; the earlier release refuses its tables."""
    home = place / "home"
    url = {"COMMONPLACE_POSTGRES_URL": postgres_url, "COMMONPLACE_DATABASE": postgres_url}
    old.do(home, "add", "lesson", "Takes 60s to start", "--category", "timing", variables=url)
    old.do(home, "add", "rule", "Ask Ada before a deployment", variables=url)
    old.replace(releases["next"])
    check = old.do(home, "admin", "upgrade", "--check", variables=url)
    assert check.out.count("without a backup, because the database has a URL") == 3
    upgraded = old.do(home, "admin", "upgrade", variables=url)
    assert (
        "commonplace makes no backup of a server with a URL: the only way back is your own backup"
        in upgraded.err
    )
    assert "Takes 60s" in old.do(home, "list", "lessons", variables=url).out
    assert not (home / DIRECTORY).exists()
    old.replace(heritage.release)
    refused = old.run(home, "list", "rules", variables=url)
    assert refused.status == 1
    assert re.search(REFUSED, refused.err), refused.err


@pytest.mark.requirement("UPG-02.1")
async def test_an_upgrade_that_was_killed_continues_with_its_first_backup(new_settings: Settings) -> None:
    """A second backup would hold tables that the earlier release cannot open."""
    await migrate_sqlite(new_settings.database_path, "operational", target="ops_008")
    first = await home_upgrade._backup(new_settings)
    assert [each.revision for each in await pending_upgrades(new_settings)] == ["ops_008"]
    assert await upgrade_home(new_settings) == first
    assert await upgrade_home(new_settings) is None
    assert list((new_settings.home / DIRECTORY).iterdir()) == [first]


@pytest.mark.requirement("UPG-03.2")
@pytest.mark.parametrize("name", ["projects.json", "sources.json", "mirrors.json"])
def test_a_newer_list_of_a_home_is_neither_read_nor_replaced(tmp_path: Path, name: str) -> None:
    """The error names the file and the way back."""
    path = tmp_path / name
    path.write_text('{"format": 2, "projects": {}, "sources": [], "mirrors": []}')
    with pytest.raises(FileTooNewError, match=rf"{name} has format 2, .* commonplace restore --replace FILE"):
        {
            "projects.json": RegistryFile(path).read,
            "sources.json": SourceRegistry(tmp_path).list,
            "mirrors.json": MirrorRegistry(tmp_path).list,
        }[name]()
