"""Today's code opens what release 0.1.0 left behind: a home, a backup and an export."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from commonplace.core.settings import Settings
from commonplace.services.opening import Memories
from commonplace.services.transfer.exporting import export
from commonplace.services.transfer.items import exported_json
from commonplace.storage.backup.restoring import restore
from support.commands import CommandLine
from support.heritage import Heritage, items_of, texts_of
from support.releases import OLDEST, WHEELS, digest_of, recorded
from support.scripts import script

pytestmark = pytest.mark.timeout(900)

KINDS = {"entity", "fact", "rule", "episode", "digest", "operational", "workspace"}


async def items_in(home: Path, workspace: Path) -> list[str]:
    """Return the items of a home with their records, as a new export has them."""
    async with Memories.open(Settings(home=home, workspace=workspace)) as memories:
        exported = export(memories.knowledge, memories.operational, memories.workspace, memories.apps)
        return sorted([json.dumps(exported_json(each), sort_keys=True) async for each in exported])


@pytest.mark.requirement("UPG-01.1")
@pytest.mark.long
async def test_every_memory_of_a_home_is_read(home: Path, heritage: Heritage) -> None:
    """Of each kind, with its ids, times and state."""
    expected = items_of(heritage.export)
    assert {json.loads(item)["kind"] for item in expected} == KINDS
    assert await items_in(home, home.with_name("workspace")) == expected


@pytest.mark.requirement("UPG-01.2")
@pytest.mark.long
async def test_a_backup_is_restored(place: Path, heritage: Heritage) -> None:
    """Into an empty home, where every memory is as it was."""
    workspace = heritage.directory / "workspace"
    receipt = await restore(Settings(home=place / "home"), heritage.backup)
    assert (receipt.backup.workspaces, receipt.elsewhere) == ((str(workspace),), ())
    assert await items_in(place / "home", workspace) == items_of(heritage.export)


@pytest.mark.requirement("UPG-01.3")
def test_an_export_is_imported(commonplace: CommandLine, knowledge_url: str, heritage: Heritage) -> None:
    """Into another home, which then has the same memories."""
    imported = commonplace(
        "import", str(heritage.export), "--from", "jsonl", COMMONPLACE_POSTGRES_URL=knowledge_url
    )
    assert imported.out.startswith("jsonl: 8 new, "), imported.err
    copy = commonplace.directory / "copy.jsonl"
    assert commonplace("export", str(copy), COMMONPLACE_POSTGRES_URL=knowledge_url).status == 0
    assert texts_of(copy) == texts_of(heritage.export)


@pytest.mark.requirement("UPG-06.1")
def test_the_wheel_is_that_of_the_release(heritage: Heritage) -> None:
    """Each file has the digest in the RECORD of the release; only models and scripts of other authors are left out."""
    files = dict(recorded(heritage.release, OLDEST))
    present = {name: digest for name, digest in files.items() if (heritage.release / name).exists()}
    assert {name: digest_of(heritage.release / name) for name in present} == present
    left_out = files.keys() - present.keys()
    assert all(name.startswith(script("keep_release").LEFT_OUT) for name in left_out)
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(WHEELS.glob("*.whl"))]
    assert (WHEELS / "SHA256SUMS").read_text().splitlines() == sums
