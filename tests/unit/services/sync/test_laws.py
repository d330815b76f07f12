"""The laws of sync over random histories of devices that exchange changes in any order, some twice, some late."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.services.sync.changes import Change
from commonplace.services.sync.kinds import SyncKind
from commonplace.services.sync.merging import Merged, merged, unseen
from commonplace.services.sync.versions import HybridClock, has_seen, next_versions

pytestmark = pytest.mark.requirement("SYN-01.1")

DEVICES = ("laptop", "server", "desktop")
TEXTS = ("Takes 60s to start", "Takes 90s to start", "Port 8096")
MOST_MS = 2_000_000_000_000


class Device:
    """A device with one lesson, and the changes that it knows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = HybridClock(name)
        self.known: list[Change] = []
        self.made: list[Change] = []

    def change(self, fields: dict[str, Any] | None, now: int, *, text: str | None = None) -> None:
        """Change the lesson; a new text gets the stamp of the change."""
        heads = unseen(self.known)
        stamp = self.clock.tick(now)
        if fields is not None and text is not None:
            fields = {**fields, "text": [text, [stamp.milliseconds, stamp.count, stamp.device]]}
        made = Change(
            kind=SyncKind.LESSON,
            name="jellyfin",
            versions=next_versions((each.versions for each in heads), self.name),
            stamp=stamp,
            fields=fields,
        )
        self.known = [*heads, made]
        self.made.append(made)

    def take(self, changes: Sequence[Change], now: int) -> None:
        """Take changes of a carrier."""
        for each in changes:
            self.clock.see(each.stamp, now)
        self.known = unseen([*self.known, *changes])

    def state(self) -> Merged | None:
        """The lesson as the device shows it."""
        heads = unseen(self.known)
        return merged(heads) if heads else None


@st.composite
def histories(draw: st.DrawFn) -> list[Device]:
    """Devices after a history, each knowing what reached it."""
    devices = [Device(name) for name in DEVICES]
    for _ in range(draw(st.integers(1, 14))):
        device = draw(st.sampled_from(devices))
        now = draw(st.integers(0, MOST_MS))  # Clocks jump.
        match draw(st.sampled_from(("edit", "reinforce", "forget", "sync"))):
            case "edit":
                device.change({"tier": draw(st.integers(1, 3))}, now, text=draw(st.sampled_from(TEXTS)))
            case "reinforce":
                state = device.state()
                fields: dict[str, Any] = dict(state.fields) if state and state.fields else {"tier": 1}
                counts = dict(fields.get("reinforced", {}))
                counts[device.name] = counts.get(device.name, 0) + 1
                text = None if "text" in fields else TEXTS[0]
                device.change({**fields, "reinforced": counts}, now, text=text)
            case "forget":
                device.change(None, now)
            case _:
                other = draw(st.sampled_from(devices))
                carried = draw(st.lists(st.sampled_from(other.made), max_size=6)) if other.made else []
                device.take(carried, now)
    return devices


@settings(max_examples=400)
@given(histories(), st.randoms(use_true_random=False))
def test_devices_with_the_same_changes_have_the_same_memory(devices: list[Device], chance: Any) -> None:  # noqa: ANN401
    """In whatever order and however often they arrive."""
    made = [change for device in devices for change in device.made]
    states: list[Merged | None] = []
    for device in devices:
        carried = [*made, *chance.sample(made, len(made) // 2)]
        chance.shuffle(carried)
        cut = chance.randint(0, len(carried))
        device.take(carried[:cut], 0)
        device.take(carried[cut:], 0)
        states.append(device.state())
    assert states[0] == states[1] == states[2]


@settings(max_examples=200)
@given(histories())
def test_no_change_is_lost_unless_another_one_has_seen_it(devices: list[Device]) -> None:
    """Each change is in the state, or a change that has seen it is."""
    made = [change for device in devices for change in device.made]
    heads = unseen(made)
    for change in made:
        assert any(has_seen(head.versions, change.versions) for head in heads)


@settings(max_examples=200)
@given(histories())
def test_what_was_forgotten_comes_back_only_by_a_change_that_has_seen_it(devices: list[Device]) -> None:
    """An edit on another device that did not know of it revives nothing."""
    made = [change for device in devices for change in device.made]
    heads = unseen(made)
    for deletion in (each for each in made if each.is_deletion):
        if heads and merged(heads).fields is not None:
            assert any(has_seen(each.versions, deletion.versions) and not each.is_deletion for each in heads)


@settings(max_examples=200)
@given(histories())
def test_merging_does_not_depend_on_an_order(devices: list[Device]) -> None:
    """Of up to four changes, every order is tried."""
    heads = unseen([change for device in devices for change in device.made])[:4]
    if heads:
        assert len({repr(merged(order)) for order in permutations(heads)}) == 1


@given(histories())
def test_a_change_survives_its_line(devices: list[Device]) -> None:
    """As files carry it."""
    for device in devices:
        assert [Change.from_json(each.to_json()) for each in device.made] == device.made
