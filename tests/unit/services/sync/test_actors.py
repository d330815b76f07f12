"""The device of a change in the history of a memory, for people."""

import pytest

from commonplace.services.sync.actors import actor_from_words, actor_in_words, actor_of_device

pytestmark = pytest.mark.requirement("SYN-13.1")


@pytest.mark.parametrize("name", ["laptop", "Ada's phone", "a:b", "device"])
def test_a_device_is_named_in_words(name: str) -> None:
    """The words lead back to the actor."""
    actor = actor_of_device(name)
    assert actor == f"sync:{name}"
    assert actor_in_words(actor) == f"device {name}"
    assert actor_from_words(f"device {name}") == actor


@pytest.mark.parametrize("actor", ["", "operator", "web", "sync", "sync:", "synchroniser", "device"])
def test_other_actors_stay_as_they_are(actor: str) -> None:
    """Those that are no device."""
    assert actor_in_words(actor) == actor
    assert actor_from_words(actor) == actor
