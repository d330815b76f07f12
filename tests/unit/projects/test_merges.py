"""Merges of projects that several devices make: which of them hold, and which memories follow them."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.core.errors import ConflictError, NotFoundError
from commonplace.projects import Clues, DistantProject, Merge, Projects
from commonplace.projects.merges import merges_in_force, project_moves, standing_for
from support.git_repositories import repository

pytestmark = pytest.mark.requirement("SYN-14.1")

REMOTE = "https://github.com/acme/api"
CLUES = Clues(remote="//github.com/acme/api")
API, SHOP, WEB = (DistantProject(id=f"{name}-23456789", name=name) for name in ("api", "shop", "web"))
IDS = st.sampled_from("abcdef")


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    """The projects of a new home, with three of other devices."""
    projects = Projects(tmp_path / "home")
    for each in (API, SHOP, WEB):
        projects.note_elsewhere(each)
    return projects


def owners(projects: Projects) -> set[str]:
    """Return the ids of the projects whose memories are used."""
    return {projects.standing_for(each).id for each in projects.shared()}


@given(st.dictionaries(IDS, IDS))
def test_every_project_uses_one_memory(merges: dict[str, str]) -> None:
    """Whatever the merges are: a circle has one way out, and all of its projects go there."""
    in_force = merges_in_force(merges)
    for source, target in merges.items():
        owner = standing_for(source, in_force)
        assert owner not in in_force
        assert standing_for(target, in_force) == owner


@given(st.dictionaries(IDS, IDS), st.dictionaries(IDS, IDS))
def test_the_moves_lead_to_the_merges_that_hold(merges: dict[str, str], before: dict[str, str]) -> None:
    """The memories of a chain move once along all of it, and back along all of it."""
    in_force, past = merges_in_force(merges), merges_in_force(before)
    moves = project_moves(in_force, past, set("abcdef"))
    if moves is None:
        assert not in_force
        assert not past
        return
    assert moves.result == in_force
    for each, chains, steps in ((moves.forward, in_force, 1), (moves.backward, past, -1)):
        order = [merge.source for merge in each][::steps]
        for place, source in enumerate(order):
            assert chains[source] not in order[:place]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_circle_of_merges_ends_the_same_in_any_order(projects: Projects, order: tuple[int, ...]) -> None:
    """Three devices merged three projects in a circle; the project with the first id has all memories."""
    circle = [
        replace(API, merged_into=SHOP.id),
        replace(SHOP, merged_into=WEB.id),
        replace(WEB, merged_into=API.id),
    ]
    for place in order:
        projects.note_elsewhere(circle[place], seen=(API, SHOP, WEB)[place])
    assert owners(projects) == {API.id}
    assert {each.id: projects.merge_of(each.id) for each in (API, SHOP, WEB)} == {
        API.id: None,
        SHOP.id: WEB.id,
        WEB.id: API.id,
    }


def test_a_merge_that_did_not_hold_does_not_come_back(projects: Projects) -> None:
    """The other merge of the circle is taken back, and every project has its own memory."""
    projects.note_elsewhere(replace(API, merged_into=SHOP.id), seen=API)
    projects.note_elsewhere(replace(SHOP, merged_into=API.id), seen=SHOP)
    assert owners(projects) == {API.id, WEB.id}
    projects.set_merged(SHOP.id, None)
    assert owners(projects) == {API.id, SHOP.id, WEB.id}
    assert [each.merged_into for each in projects.shared()] == [None] * 3


def test_a_merge_follows_a_chain_and_refuses_a_circle(projects: Projects) -> None:
    """Of projects of other devices too; one that nobody knows is refused."""
    projects.set_merged(API.id, SHOP.id)
    projects.set_merged(SHOP.id, WEB.id)
    assert owners(projects) == {WEB.id}
    with pytest.raises(ConflictError, match="Separate them"):
        projects.set_merged(WEB.id, API.id)
    with pytest.raises(NotFoundError):
        projects.set_merged("nobody-23456789", WEB.id)


def test_memories_move_once_and_back(projects: Projects) -> None:
    """After a merge here there is nothing to take back; after one of another device, and after its end, there is."""
    projects.set_merged(API.id, SHOP.id)
    moves = projects.project_moves()
    assert moves is not None
    assert (moves.backward, moves.forward) == ((), (Merge(API.id, SHOP.id),))
    merged = replace(API, merged_into=SHOP.id)
    projects.note_elsewhere(replace(API, merged_into=WEB.id), seen=merged)
    moves = projects.project_moves()
    assert moves is not None
    assert (moves.backward, moves.forward) == ((Merge(API.id, SHOP.id),), (Merge(API.id, WEB.id),))
    projects.note_moves(moves)
    projects.note_elsewhere(API, seen=replace(API, merged_into=WEB.id))
    moves = projects.project_moves()
    assert moves is not None
    assert moves.backward == (Merge(API.id, WEB.id),)
    projects.note_moves(moves)
    assert projects.project_moves() is None


def test_memories_of_a_forgotten_project_stay_where_they_are(projects: Projects) -> None:
    """Nobody knows whether its merge still holds; once it is known again, its memories follow it."""
    projects.set_merged(API.id, SHOP.id)
    projects.forget_elsewhere(API.id, seen=replace(API, merged_into=SHOP.id))
    assert projects.project_moves() is None
    projects.note_elsewhere(API)
    moves = projects.project_moves()
    assert moves is not None
    assert moves.backward == (Merge(API.id, SHOP.id),)


def test_a_clone_of_a_merged_project_has_the_memory_of_the_other(tmp_path: Path, projects: Projects) -> None:
    """Two ids of one repository that were merged are no doubt, and neither looks like the other."""
    projects.note_elsewhere(replace(API, clues=CLUES, merged_into=SHOP.id), seen=API)
    projects.note_elsewhere(replace(SHOP, clues=CLUES), seen=SHOP)
    project = projects.at(repository(tmp_path / "api", remote=REMOTE))
    assert (project.id, project.looks_like) == (SHOP.id, ())
    other = Projects(tmp_path / "other")
    other.note_elsewhere(replace(WEB, clues=CLUES, merged_into=SHOP.id))
    assert other.at(repository(tmp_path / "web", remote=REMOTE)).id == WEB.id
    assert other.butler_at(tmp_path / "web") == SHOP.id


def test_a_project_that_is_off_is_shared_while_another_uses_its_memory(
    tmp_path: Path, projects: Projects
) -> None:
    """The other devices need to know the merge."""
    top = repository(tmp_path / "api")
    key = projects.switch(top, is_off=True).id
    assert key not in {each.id for each in projects.shared()}
    projects.set_merged(API.id, key)
    assert key in {each.id for each in projects.shared()}
    assert projects.scope_of(API.id) == key
