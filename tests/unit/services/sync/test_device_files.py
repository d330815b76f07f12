"""Files of devices: what a carrier can and cannot do to them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import InvalidInputError, SyncFileError
from commonplace.services.sync.changes import Change
from commonplace.services.sync.device_files import (
    FIRST,
    DeviceFile,
    FileHead,
    FileName,
    FilePlace,
    digest_of,
    name_of,
    parse_name,
    read_file,
    write_file,
)
from commonplace.services.sync.home_keys import HomeKey, KeyRing
from commonplace.services.sync.keys import DeviceKey, new_home_key, unwrapped, wrapped
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.versions import Stamp

pytestmark = pytest.mark.requirement("SYN-02.1")

KEY, DEVICE, OTHER = new_home_key(), DeviceKey.new(), DeviceKey.new()
RING = KeyRing.of(KEY, [])
PLACE = FilePlace(device=DEVICE.device, number=2, previous="0123456789abcdef")
TEXT = "Grüße aus\u2028Köln, jellyfin takes 60s"


def file_of(*texts: str) -> DeviceFile:
    """Return a file with a change for each text."""
    changes = [
        Change(
            kind=SyncKind.LESSON,
            name=f"lesson-{number}",
            versions={DEVICE.device: 1},
            stamp=Stamp(1_790_000_000_000, number, DEVICE.device),
            fields={"text": text},
        )
        for number, text in enumerate(texts)
    ]
    return DeviceFile(changes=changes, heads={OTHER.device: FileHead(7, "fedcba9876543210")})


def body_of(*texts: str) -> bytes:
    """Return the bytes of such a file."""
    return write_file(file_of(*texts), PLACE, HomeKey(key=KEY), DEVICE)


def test_a_file_is_read_back_and_its_carrier_reads_nothing() -> None:
    """Neither texts nor names; a name says which device wrote it, and nothing else."""
    body = body_of(TEXT, "two")
    assert read_file(body, PLACE, RING, DEVICE.public) == file_of(TEXT, "two")
    assert not any(word in body for word in (b"jellyfin", b"lesson", "Köln".encode(), b"ops"))
    assert parse_name(name_of(PLACE, body)) == FileName(DEVICE.device, 2, digest_of(body))
    assert parse_name("devices/laptop") is None


@pytest.mark.parametrize(
    ("place", "key", "public"),
    [
        pytest.param(replace(PLACE, number=3), KEY, DEVICE.public, id="moved to another place"),
        pytest.param(replace(PLACE, previous=FIRST), KEY, DEVICE.public, id="behind another file"),
        pytest.param(replace(PLACE, device=OTHER.device), KEY, OTHER.public, id="as another device"),
        pytest.param(PLACE, new_home_key(), DEVICE.public, id="of another home"),
        pytest.param(PLACE, KEY, OTHER.public, id="signed by another device"),
    ],
)
def test_a_file_is_good_in_one_place_only(place: FilePlace, key: bytes, public: bytes) -> None:
    """A carrier cannot splice."""
    with pytest.raises(SyncFileError):
        read_file(body_of(TEXT), place, KeyRing.of(key, []), public)


@given(st.data())
def test_a_file_with_one_other_bit_is_refused(data: st.DataObject) -> None:
    """Wherever it is; so is a file that is cut or longer."""
    body = body_of(TEXT)
    at = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    for each in (bytes(changed), body[:at], body + b"x"):
        with pytest.raises(SyncFileError):
            read_file(each, PLACE, RING, DEVICE.public)


def test_a_passphrase_opens_the_key_of_a_home() -> None:
    """Another one does not, and a short one is refused before anything is written."""
    document = wrapped(KEY, "correct horse battery staple")
    assert KEY not in document
    assert unwrapped(document, "correct horse battery staple") == KEY
    with pytest.raises(InvalidInputError, match="passphrase"):
        unwrapped(document, "correct horse battery stable")
    with pytest.raises(SyncFileError):
        unwrapped(document[:-9], "correct horse battery staple")
    with pytest.raises(InvalidInputError, match="12 characters"):
        wrapped(KEY, "short")


def test_the_id_of_a_device_is_that_of_its_key() -> None:
    """Also after it was stored."""
    assert DeviceKey.from_bytes(DEVICE.raw).device == DEVICE.device != OTHER.device
