"""An attack of a carrier during a simulated year, and whether its victim refused it and told of it."""

from collections.abc import Sequence
from datetime import timedelta

from commonplace.services.sync.device_files import FileName, parse_name
from commonplace.services.sync.erasures import Key
from support.sync_year_attacks import ATTACKS, Scene
from support.sync_year_devices import World, YearDevice


async def play_attack(world: World, name: str, devices: Sequence[YearDevice]) -> list[str]:
    """Attack what two devices have just sent to a third one; return what was believed, or was not told.

    Args:
        world: What all devices share.
        name: The attack.
        devices: Three devices that are there.
    """
    carrier = world.carrier
    carrier.mend()
    carrier.delay, delay = timedelta(), carrier.delay
    problems = await _play(world, name, devices)
    carrier.mend()
    carrier.delay = delay
    return problems


async def _play(world: World, name: str, devices: Sequence[YearDevice]) -> list[str]:
    attack, carrier = ATTACKS[name], world.carrier
    writer, other, victim = world.chance.sample(list(devices), 3)
    sent = await _files(world, writer, other, victim)
    if attack.needs_witness:
        await other.sync()
    scene = Scene(
        chance=world.chance,
        carrier=carrier,
        writer=writer,
        other=other,
        name=sent[0],
        other_name=sent[1],
    )
    expected = attack.act(scene)
    if attack.needs_news:
        await _send(world, writer)
    if attack.needs_witness:
        await _send(world, other)
    if attack.is_lost:
        return await _after_loss(writer, victim, scene.name.number)
    before = {key: victim.memories.rows.get(key) for key in _keys_of(world, writer)}
    report = await victim.sync()
    problems = [
        f"{text!r} was not told, but {report.problems}"
        for text in expected
        if not any(text in each for each in report.problems)
    ]
    if attack.hides:
        changed = [key for key, row in before.items() if victim.memories.rows.get(key) != row]
        problems += [f"{key} was believed" for key in changed if _is_last_by(world, key, writer)]
    return problems


async def _after_loss(writer: YearDevice, victim: YearDevice, number: int) -> list[str]:
    """Return what is wrong after the carrier has lost a file: the writer must say so and send its changes again."""
    report = await writer.sync()
    is_told = f"the target has lost files of this device ({number})" in str(report.problems)
    problems = [] if is_told else [f"the loss of file {number} was not told"]
    problems += (await victim.sync()).problems
    keys = [
        key
        for key, row in writer.memories.rows.items()
        if "expires_at" not in row and row != victim.memories.rows.get(key)
    ]
    return problems + [f"{key} has not arrived" for key in keys]


async def _files(
    world: World, writer: YearDevice, other: YearDevice, victim: YearDevice
) -> tuple[FileName, FileName]:
    """Let two devices send a file each that is no snapshot, and that the third one needs; return their names."""
    while True:
        for device in (writer, other, writer, victim):
            await device.sync()
        before = set(world.carrier.files)
        sent = (await _send(world, writer), await _send(world, other))
        new = filter(None, map(parse_name, set(world.carrier.files) - before))
        if not any(each.is_snapshot for each in new):
            return sent


async def _send(world: World, device: YearDevice) -> FileName:
    """Let a device learn and send something; return the name of its newest file."""
    device.person.session()
    await device.sync()
    names = filter(None, map(parse_name, world.carrier.files))
    return max((each for each in names if each.device == device.key.device), key=lambda each: each.number)


def _keys_of(world: World, device: YearDevice) -> list[Key]:
    """Return the memories that only this device has touched."""
    return [key for key, acts in world.model.acts.items() if {each.device for each in acts} == {device.name}]


def _is_last_by(world: World, key: Key, device: YearDevice) -> bool:
    return world.model.acts[key][-1].device == device.name
