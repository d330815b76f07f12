"""Attacks of a carrier on the files of a home: what each one does, and what the report of a sync must say of it."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from commonplace.services.sync.device_files import FileName, parse_name
from commonplace.services.sync.introductions import FOLDER as INTRODUCTIONS
from support.sync_year_carrier import YearCarrier
from support.sync_year_devices import YearDevice


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The devices of an attack, and what one of them has just sent.

    Attributes:
        chance: Decides details.
        carrier: The carrier.
        writer: The device that sent.
        other: Another device that sent.
        name: The newest file of the writer, which the victim has not taken.
        other_name: The newest file of the other device, likewise.
    """

    chance: random.Random
    carrier: YearCarrier
    writer: YearDevice
    other: YearDevice
    name: FileName
    other_name: FileName

    @property
    def body(self) -> bytes:
        """The bytes of the writer's newest file."""
        return self.carrier.files[str(self.name)]

    def older(self) -> bytes:
        """Return the bytes of an older file of the writer, or of its introduction."""
        names = [
            str(each)
            for each in filter(None, map(parse_name, sorted(self.carrier.files)))
            if each.device == self.name.device and each.number < self.name.number
        ]
        return self.carrier.files[self.chance.choice(names or [f"{INTRODUCTIONS}/{self.name.device}"])]

    def put(self, name: FileName, body: bytes) -> None:
        """Show bytes under a name that the writer did not choose."""
        digest = f"{self.chance.randrange(1 << 64):016x}"
        self.carrier.changed[str(name._replace(digest=digest))] = body

    def says(self, device: YearDevice, name: FileName, what: str = "is forged or damaged") -> str:
        """Return what a report must say of a file."""
        return f"{device.name}: its file {name.number} {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One kind of attack.

    Attributes:
        act: Tampers with the carrier; returns what the report of the victim must say.
        hides: Whether the victim cannot take the writer's newest file.
        needs_news: Whether the victim can know only after the writer sent something more.
        needs_witness: Whether the victim can know only after another device that has the file sent something.
        is_lost: Whether the writer must say so, and send again what was in the file.
    """

    act: Callable[[Scene], list[str]]
    hides: bool = True
    needs_news: bool = False
    needs_witness: bool = False
    is_lost: bool = False


def _drop(scene: Scene) -> list[str]:
    scene.carrier.hidden[str(scene.name)] = scene.writer.name
    return [scene.says(scene.writer, scene.name, "is missing")]


def _lose(scene: Scene) -> list[str]:
    del scene.carrier.files[str(scene.name)]
    return []


def _truncate(scene: Scene) -> list[str]:
    cut = scene.chance.randrange(len(scene.body))
    scene.carrier.changed[str(scene.name)] = scene.body[:cut]
    return [scene.says(scene.writer, scene.name)]


def _flip(scene: Scene) -> list[str]:
    body = bytearray(scene.body)
    body[scene.chance.randrange(len(body))] ^= 1 << scene.chance.randrange(8)
    scene.carrier.changed[str(scene.name)] = bytes(body)
    return [
        f"{scene.writer.name}: its file {scene.name.number} "
    ]  # Bits of the format's number ask for an update.


def _forge(scene: Scene) -> list[str]:
    scene.carrier.changed[str(scene.name)] = scene.chance.randbytes(len(scene.body))
    return [scene.says(scene.writer, scene.name)]


def _replay(scene: Scene) -> list[str]:
    scene.carrier.hidden[str(scene.name)] = scene.writer.name
    scene.put(scene.name, scene.older())
    return [scene.says(scene.writer, scene.name)]


def _replay_beside(scene: Scene) -> list[str]:
    scene.put(scene.name, scene.older())
    return [f"{scene.writer.name}: a second file {scene.name.number} is forged or damaged"]


def _replay_after(scene: Scene) -> list[str]:
    later = scene.name._replace(number=scene.name.number + 1)
    scene.put(later, scene.older())
    return [scene.says(scene.writer, later)]


def _replay_as_snapshot(scene: Scene) -> list[str]:
    later = scene.name._replace(number=scene.name.number + 1, is_snapshot=True)
    scene.put(later, scene.older())
    return [scene.says(scene.writer, later)]


def _splice(scene: Scene) -> list[str]:
    other = scene.carrier.files[str(scene.other_name)]
    scene.carrier.changed[str(scene.name)] = scene.body[: len(scene.body) // 2] + other[len(other) // 2 :]
    return [scene.says(scene.writer, scene.name)]


def _swap(scene: Scene) -> list[str]:
    changed, other = scene.carrier.changed, str(scene.other_name)
    changed[str(scene.name)], changed[other] = scene.carrier.files[other], scene.body
    return [scene.says(scene.writer, scene.name), scene.says(scene.other, scene.other_name)]


def _forge_key(scene: Scene) -> list[str]:
    device = scene.writer.key.device
    scene.carrier.changed[f"keys/00000099-{device}"] = scene.older()
    return [f"the key document of {device} is forged or damaged"]


def _forge_introduction(scene: Scene) -> list[str]:
    device = f"{scene.chance.randrange(1 << 64):016x}"
    body = scene.carrier.files[f"{INTRODUCTIONS}/{scene.writer.key.device}"]
    scene.carrier.changed[f"{INTRODUCTIONS}/{device}"] = body
    return [f"the introduction of {device} is forged or damaged"]


ATTACKS: Final = {
    "drop a file": Attack(act=_drop, needs_news=True),
    "drop the newest file": Attack(act=_drop, needs_witness=True),
    "lose a file for good": Attack(act=_lose, hides=False, is_lost=True),
    "truncate": Attack(act=_truncate),
    "flip a bit": Attack(act=_flip),
    "forge": Attack(act=_forge),
    "replay in its place": Attack(act=_replay),
    "replay beside it": Attack(act=_replay_beside, hides=False),
    "replay after it": Attack(act=_replay_after, hides=False),
    "replay as a snapshot": Attack(act=_replay_as_snapshot, hides=False),
    "splice": Attack(act=_splice),
    "swap two devices": Attack(act=_swap),
    "forge a key": Attack(act=_forge_key, hides=False),
    "forge a device": Attack(act=_forge_introduction, hides=False),
}
"""Every attack by its name."""
