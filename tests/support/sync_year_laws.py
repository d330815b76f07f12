"""The laws of a year: what holds after every full exchange, and of the bytes at its end."""

from collections.abc import Iterator, Mapping, Sequence

from commonplace.services.sync.changes import Fields
from commonplace.services.sync.erasures import Key
from support.sync_files import packed_texts
from support.sync_year_devices import World, YearDevice

MOST_BYTES = 50_000_000
"""The bytes of a year of one person, at the carrier and in the state of a device."""


def broken_laws(world: World, devices: Sequence[YearDevice]) -> Iterator[str]:
    """Yield the laws that do not hold after a full exchange of some devices."""
    heads = {tuple(each.state.all_heads()) for each in devices}
    if len(heads) > 1:
        yield "two members know different changes"
    rows = [
        {
            key: each.memories.shown(key)
            for key in sorted(each.memories.rows)
            if "expires_at" not in each.memories.rows[key]
        }
        for each in devices
    ]
    if any(each != rows[0] for each in rows):
        yield f"two members show different memories: {_difference(rows)}"
    for device in devices:
        if device.state.pending():
            yield f"{device.name}: memories wait to be written"
        yield from _wrong_memories(world, device)


def _difference(rows: Sequence[Mapping[Key, Fields | None]]) -> str:
    keys = {key for each in rows for key in each if any(other.get(key) != each[key] for other in rows)}
    return ", ".join(sorted(map(str, keys))[:3])


def _wrong_memories(world: World, device: YearDevice) -> Iterator[str]:
    """Yield what a device shows that the model does not allow."""
    memories = device.memories
    for key in {*world.model.acts, *memories.rows}:
        row = memories.shown(key)
        if row is None and _may_have_expired(world, device, key):
            continue
        for problem in world.model.problems(key, row, memories.texts.get(key, ())):
            yield f"{device.name}: {key[0]} {key[1]}: {problem}"


def _may_have_expired(world: World, device: YearDevice, key: Key) -> bool:
    """Return whether a memory may be gone because its time is over, by the clock of this device."""
    ends = [
        str(each.row["expires_at"])
        for each in world.model.acts.get(key, ())
        if each.row and each.row.get("expires_at")
    ]
    return bool(ends) and min(ends) <= device.clock().isoformat(timespec="microseconds")


def texts_that_remain(world: World, devices: Sequence[YearDevice]) -> Iterator[str]:
    """Yield the erased texts that are left in a file of the carrier, in a state, or in a memory."""
    texts = world.model.erased_texts()
    if not texts:
        return
    ring = devices[0].syncing._members.ring()
    carried = packed_texts(world.carrier.files, ring)
    databases = [path.read_bytes() for each in devices for path in each.files()]
    memories = [f"{each.memories.rows}{each.memories.texts}" for each in devices]
    for device in devices:
        waiting = [each.name for each in device.state.erasures() if each.waiting]
        if waiting:
            yield f"{device.name}: an erasure is not done everywhere"
    for text in sorted(texts):
        if any(text in each for each in carried):
            yield "an erased text is left at the carrier"
        if any(text.encode() in each for each in databases):
            yield "an erased text is left in a state"
        if any(text in each for each in memories):
            yield "an erased text is left in a memory"


def too_many_bytes(world: World, devices: Sequence[YearDevice]) -> Iterator[str]:
    """Yield what is larger than a year of one person may be."""
    if world.carrier.size() > MOST_BYTES:
        yield f"the carrier holds {world.carrier.size():,} bytes"
    for device in devices:
        if device.size() > MOST_BYTES:
            yield f"the state of {device.name} has {device.size():,} bytes"
