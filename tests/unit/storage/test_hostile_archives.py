"""Backups that somebody made to do harm: a restore ends with an error, and takes neither memory nor disk."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from commonplace.core.errors import StorageError
from commonplace.core.settings import Settings
from commonplace.storage.backup.archive import FORMAT, INCREMENTAL, MANIFEST, identity, unpack, verify
from commonplace.storage.backup.restoring import restore

GIB = 1 << 30
SMALL_FILE_BYTES = 100_000


def manifest_of(files: dict[str, bytes], **fields: Any) -> bytes:  # noqa: ANN401 - fields of any type
    """Return a manifest for some files."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return json.dumps(
        {"made_at": "2026-01-01T00:00:00Z", "release": "1", "files": hashes, "format": FORMAT} | fields
    ).encode()


def packed(path: Path, manifest: bytes, files: dict[str, bytes]) -> Path:
    """Write an archive."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in ({MANIFEST: manifest} | files).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize(
    "manifest",
    [
        b"[" * 100_000,
        b'{"files": ' + b'{"a":' * 100_000,
        json.dumps({"made_at": 1, "release": 1, "files": 1, "format": FORMAT}).encode(),
        json.dumps({"made_at": "", "release": "", "format": INCREMENTAL, "base": [1, 2]}).encode(),
        json.dumps({"made_at": "", "release": "", "format": INCREMENTAL, "base": ["..", "x"]}).encode(),
    ],
    ids=["deep list", "deep object", "files", "base", "parent as base"],
)
def test_a_manifest_of_any_form_is_an_error(tmp_path: Path, manifest: bytes) -> None:
    """Deep nesting and values of other types end like other damage."""
    file = packed(tmp_path / "backup.tar.gz", manifest, {})
    with pytest.raises(StorageError, match=r"damaged|incremental"):
        verify(file)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_of_any_size_is_not_read_into_memory(tmp_path: Path, kind: bytes) -> None:
    """The content of an extended header may be gibibytes of zeros, which compress well."""
    header = tarfile.TarInfo("header")
    header.type, header.size = kind, GIB
    file = tmp_path / "backup.tar.gz"
    with tarfile.open(file, "w:gz", compresslevel=1) as archive:
        manifest = manifest_of({})
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(manifest)
        archive.addfile(first, io.BytesIO(manifest))
        assert archive.fileobj is not None
        archive.fileobj.write(header.tobuf(tarfile.GNU_FORMAT))
        archive.fileobj.write(bytes(1024))
    with pytest.raises(StorageError, match="header is too large"):
        verify(file)


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    """It has a size of its own, whatever the archive holds."""
    member = tarfile.TarInfo("commonplace.db")
    member.type, member.size = tarfile.GNUTYPE_SPARSE, 0
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    block[386:398], block[398:410] = b"00000000000\0", b"00000000000\0"
    block[483:495] = b"77777777777\0"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    file = tmp_path / "backup.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        manifest = manifest_of({"commonplace.db": b""})
        first = tarfile.TarInfo(MANIFEST)
        first.size = len(manifest)
        archive.addfile(first, io.BytesIO(manifest))
        assert archive.fileobj is not None
        archive.fileobj.write(bytes(block))
    (tmp_path / "out").mkdir()
    with pytest.raises(StorageError, match=r"holds 'commonplace\.db'"):
        unpack(file, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_backup_takes_no_more_than_the_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe may name the same bytes of its base any number of times."""
    usage = type("Usage", (), {"free": 1_000_000})()
    monkeypatch.setattr("shutil.disk_usage", lambda _path: usage)
    content = {"commonplace.db": bytes(SMALL_FILE_BYTES)}
    base = packed(tmp_path / "base.tar.gz", manifest_of(content), content)
    manifest = manifest_of(
        content,
        format=INCREMENTAL,
        base=[base.name, identity(base)],
        recipes={"commonplace.db": [[0, SMALL_FILE_BYTES]] * 1_000_000},
    )
    file = packed(tmp_path / "backup.tar.gz", manifest, {"commonplace.db": b""})
    (tmp_path / "out").mkdir()
    with pytest.raises(StorageError, match="more than 90% of the free space"):
        unpack(file, tmp_path / "out")
    assert (tmp_path / "out" / "commonplace.db").stat().st_size <= 900_000


@pytest.mark.parametrize("name", ["postgres/17/data/postgresql.conf", "models/graph", "commonplace.db"])
async def test_a_restore_replaces_no_program_of_the_home(
    new_settings: Settings, tmp_path: Path, name: str
) -> None:
    """The files of a home in a backup are records; a database or a program in their place is refused."""
    files = {f"home/{name}": b"archive_command = 'touch /tmp/owned'"}
    file = packed(tmp_path / "backup.tar.gz", manifest_of(files), files)
    with pytest.raises(StorageError, match="which no backup holds"):
        await restore(new_settings, file)
    assert not (new_settings.home / name).exists()
