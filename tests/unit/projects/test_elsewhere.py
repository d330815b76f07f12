"""Projects of other devices: a clone gets their identity, if there is no doubt which one; else a person decides."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError
from commonplace.projects import Clues, DistantProject, Projects
from commonplace.projects.identity import NAMELESS
from support.git_repositories import clone, git, repository

pytestmark = pytest.mark.requirement("SYN-10.1")

REMOTE = "https://github.com/acme/api"
FORK = "https://github.com/other/api"
LAPTOP = DistantProject(id="api-23456789", name="Billing", clues=Clues(remote="//github.com/acme/api"))


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    """The projects of a new home."""
    return Projects(tmp_path / "home")


def with_commit_of(directory: Path, name: str, *, remote: str | None = None) -> DistantProject:
    """Return a project of another device that has the first commit of a repository."""
    clues = Clues(remote=remote, root_commit=Clues.of(directory / ".git").root_commit)
    return DistantProject(id=f"{name}-23456789", name=name, clues=clues)


def entries(home: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Return the file of a home with its projects."""
    return json.loads((home / "projects.json").read_text())


@pytest.mark.parametrize("url", [REMOTE, "git@github.com:acme/api.git", "ssh://git@GitHub.com/acme/api"])
def test_a_clone_gets_the_identity_of_the_project_on_the_other_device(
    tmp_path: Path, projects: Projects, url: str
) -> None:
    """Its id and its name, however the remote is written; from then on this home has the project."""
    projects.note_elsewhere(LAPTOP)
    project = projects.at(repository(tmp_path / "api", remote=url))
    assert (project.id, project.name, project.looks_like) == (LAPTOP.id, "Billing", ())
    assert projects.elsewhere() == []
    assert projects.find(tmp_path / "api") == project
    assert LAPTOP.id in (tmp_path / "api/.git/commonplace.json").read_text()
    assert [each.id for each in projects.shared()] == [LAPTOP.id]


def test_the_first_commit_is_enough(tmp_path: Path, projects: Projects) -> None:
    """The other device may have no remote, or reach it under another name."""
    directory = repository(tmp_path / "api", remote="git@github-work:acme/api")
    projects.note_elsewhere(with_commit_of(directory, "api", remote="//github.com/acme/api"))
    assert projects.at(directory).id == "api-23456789"


def test_an_installation_and_a_session_below_get_the_identity_too(tmp_path: Path, projects: Projects) -> None:
    """An installation into a directory of the repository has an identity of its own, as always."""
    projects.note_elsewhere(LAPTOP)
    top = repository(tmp_path / "api", remote=REMOTE)
    (top / "pay/src").mkdir(parents=True)
    assert projects.create(top / "pay").id != LAPTOP.id
    assert projects.butler_at(top) == LAPTOP.id
    projects.prepare(top)
    assert projects.butler_for(top) == LAPTOP.id


def test_two_candidates_leave_the_decision_to_a_person(tmp_path: Path, projects: Projects) -> None:
    """Both are named."""
    others = [LAPTOP, replace(LAPTOP, id="api-3456789a")]
    for each in others:
        projects.note_elsewhere(each)
    project = projects.at(repository(tmp_path / "api", remote=REMOTE))
    assert project.id not in {each.id for each in others}
    assert project.looks_like == tuple(each.id for each in others)


def test_a_second_clone_on_this_device_gets_an_identity_of_its_own(
    tmp_path: Path, projects: Projects
) -> None:
    """So does the first one, after a person has removed its identity."""
    projects.note_elsewhere(LAPTOP)
    first = repository(tmp_path / "api", remote=REMOTE)
    second = clone(first, tmp_path / "again", remote=REMOTE)
    assert projects.butler_at(first) == LAPTOP.id
    assert projects.at(second).id != LAPTOP.id
    assert projects.at(second).looks_like == (LAPTOP.id,)
    (first / ".git/commonplace.json").write_text('{"projects": {}}')
    assert projects.butler_at(first) not in {LAPTOP.id, projects.butler_at(second)}


def test_a_project_of_this_home_that_agrees_leaves_the_decision_to_a_person(
    tmp_path: Path, projects: Projects
) -> None:
    """Both are named."""
    first = projects.at(repository(tmp_path / "api", remote=REMOTE))
    projects.note_elsewhere(LAPTOP)
    again = projects.at(clone(tmp_path / "api", tmp_path / "again", remote=REMOTE))
    assert again.id not in {first.id, LAPTOP.id}
    assert again.looks_like == (first.id, LAPTOP.id)


def test_a_fork_shares_nothing_by_itself(tmp_path: Path, projects: Projects) -> None:
    """It has the first commit of its origin, and its remote is another repository of the same host."""
    directory = repository(tmp_path / "api", remote=FORK)
    origin = with_commit_of(directory, "origin", remote="//github.com/acme/api")
    projects.note_elsewhere(origin)
    project = projects.at(directory)
    assert project.id != origin.id
    assert project.looks_like == (origin.id,)


def test_a_copy_and_a_directory_outside_of_git_get_an_identity_of_their_own(
    tmp_path: Path, projects: Projects
) -> None:
    """Only the clone of a repository is recognised."""
    top = repository(tmp_path / "api", remote=REMOTE)
    projects.at(top)
    projects.note_elsewhere(LAPTOP)
    shutil.copytree(top, tmp_path / "copy")
    (tmp_path / "Billing").mkdir()
    assert LAPTOP.id not in {projects.butler_at(tmp_path / "copy"), projects.butler_at(tmp_path / "Billing")}


def test_a_directory_that_was_copied_with_its_identity_has_the_name_of_the_other_device(
    tmp_path: Path, projects: Projects
) -> None:
    """Its file may hold an older one."""
    top = repository(tmp_path / "api", remote=REMOTE)
    first = Projects(tmp_path / "laptop").at(top)
    projects.note_elsewhere(replace(LAPTOP, id=first.id, name="Renamed"))
    assert (projects.at(top).id, projects.at(top).name) == (first.id, "Renamed")


def test_a_project_of_before_looks_like_that_of_the_other_device(tmp_path: Path, projects: Projects) -> None:
    """No more once it is forgotten; a directory in the repository does not look like it."""
    top = repository(tmp_path / "api", remote=REMOTE)
    (top / "pay").mkdir()
    ids = [projects.create(top).id, projects.create(top / "pay").id]
    projects.note_elsewhere(LAPTOP)
    assert [projects.get(each).looks_like for each in ids] == [(LAPTOP.id,), ()]
    assert projects.butler_at(top) == ids[0]
    projects.forget_elsewhere(LAPTOP.id, seen=LAPTOP)
    assert [projects.get(each).looks_like for each in ids] == [(), ()]


def test_a_project_uses_the_memory_of_one_on_another_device_until_that_is_undone(
    tmp_path: Path, projects: Projects
) -> None:
    """That one cannot be forgotten meanwhile."""
    top = repository(tmp_path / "api", remote=REMOTE)
    own = projects.at(top)
    projects.note_elsewhere(LAPTOP)
    projects.set_merged(own.id, LAPTOP.id)
    assert projects.butler_at(top) == projects.scope_of("api") == projects.scope_of("Billing") == LAPTOP.id
    assert projects.forget_elsewhere(LAPTOP.id, seen=LAPTOP) == LAPTOP
    projects.set_merged(own.id, None)
    assert projects.butler_at(top) == own.id
    assert projects.forget_elsewhere(LAPTOP.id, seen=LAPTOP) is None


def test_names_of_this_home_come_first(tmp_path: Path, projects: Projects) -> None:
    """A name that several projects of other devices have is refused with their ids."""
    projects.note_elsewhere(replace(LAPTOP, name="api"))
    assert projects.owner("api").id == LAPTOP.id
    own = projects.at(repository(tmp_path / "api"))
    assert projects.owner("api") == own
    for number in "12":
        projects.note_elsewhere(DistantProject(id=f"shop-{number}", name="shop"))
    with pytest.raises(InvalidInputError, match="shop-1 on another device; shop-2 on another device"):
        projects.owner("shop")
    with pytest.raises(NotFoundError):
        projects.get("shop-1")


def test_other_devices_learn_neither_directories_nor_what_stays_here(
    tmp_path: Path, projects: Projects
) -> None:
    """Projects that are off stay; a directory in a repository has no clues, or a clone would become it."""
    top = repository(tmp_path / "api", remote="https://ann:hunter2@github.com/acme/api.git")
    (top / "pay").mkdir()
    local = repository(tmp_path / "local", remote=str(tmp_path / "api"))
    ids = {name: projects.create(path).id for name, path in (("api", top), ("local", local))}
    ids["pay"] = projects.create(top / "pay").id
    shared = {each.id: each.clues.remote for each in projects.shared()}
    assert shared == {ids["api"]: "//github.com/acme/api", ids["local"]: None, ids["pay"]: None}
    assert Clues() in [each.clues for each in projects.shared() if each.id == ids["pay"]]
    projects.switch(local, is_off=True)
    projects.set_merged(ids["pay"], ids["api"])
    assert {each.id: each.merged_into for each in projects.shared()} == {
        ids["api"]: None,
        ids["pay"]: ids["api"],
    }


def test_clues_that_a_project_lacked_at_first_are_found_later(tmp_path: Path, projects: Projects) -> None:
    """A repository often becomes a project before its first commit."""
    top = tmp_path / "api"
    top.mkdir()
    git(top, "init")
    own = projects.at(top)
    projects.note_elsewhere(LAPTOP)
    projects.find_clues()
    assert projects.get(own.id) == own
    git(top, "remote", "add", "origin", REMOTE)
    projects.find_clues()
    assert projects.get(own.id).clues == Clues(remote=REMOTE)
    assert projects.get(own.id).looks_like == (LAPTOP.id,)


def test_a_rename_reaches_the_project_of_this_home(tmp_path: Path, projects: Projects) -> None:
    """It keeps its own clues; a name that changed here meanwhile is not lost."""
    own = projects.at(repository(tmp_path / "api", remote=REMOTE))
    (seen,) = projects.shared()
    now = projects.note_elsewhere(replace(seen, name=" Billing ", clues=Clues()), seen=seen)
    assert now == replace(seen, name="Billing")
    assert projects.get(own.id).name == "Billing"
    with pytest.raises(ConflictError, match="changed on this device"):
        projects.note_elsewhere(replace(seen, name="Shop"), seen=seen)
    with pytest.raises(ConflictError, match="changed on this device"):
        projects.forget_elsewhere(own.id, seen=seen)
    assert projects.forget_elsewhere(own.id, seen=now) == now
    assert projects.get(own.id).name == "Billing"


def test_every_writer_of_the_file_keeps_the_projects_of_other_devices(
    tmp_path: Path, projects: Projects
) -> None:
    """A visit, a rename, a switch and a merge."""
    projects.note_elsewhere(LAPTOP)
    one, other = (projects.at(repository(tmp_path / name)) for name in ("one", "other"))
    projects.rename(one.id, "uno")
    projects.switch(tmp_path / "one", is_off=True)
    projects.set_merged(one.id, other.id)
    assert projects.elsewhere() == [LAPTOP]
    assert list(entries(tmp_path / "home")["elsewhere"]) == [LAPTOP.id]


def test_a_file_of_an_earlier_release_is_read(tmp_path: Path, projects: Projects) -> None:
    """It knows neither other devices nor which project is a directory of a repository."""
    top = repository(tmp_path / "api", remote=REMOTE)
    (top / "pay").mkdir()
    created = [projects.create(top), projects.create(top / "pay")]
    own = entries(tmp_path / "home")["projects"]
    for each in own.values():
        del each["inner"]
    (tmp_path / "home/projects.json").write_text(json.dumps({"projects": own}))
    assert projects.elsewhere() == []
    assert [projects.get(each.id) for each in created] == created
    assert [each.inner for each in created] == ["", "pay"]


def test_an_erasure_leaves_no_name(tmp_path: Path, projects: Projects) -> None:
    """Neither in the home nor in the repository; a project whose memory is in use stays, without name and clues."""
    top = repository(tmp_path / "api", remote=REMOTE)
    own = projects.at(top)
    projects.rename(own.id, "Secret")
    used = replace(LAPTOP, id="shop-23456789", name="Secret", clues=Clues(root_commit="1"))
    projects.note_elsewhere(LAPTOP)
    projects.note_elsewhere(used)
    projects.set_merged(own.id, used.id)
    projects.at(repository(gone := tmp_path / "gone"))
    shutil.rmtree(gone)
    projects.erase_names([LAPTOP.id, used.id, *(each.id for each in projects.list_projects())])
    assert {each.name for each in projects.list_projects()} == {NAMELESS}
    assert projects.elsewhere() == [DistantProject(id=used.id, name=NAMELESS)]
    assert json.loads((top / ".git/commonplace.json").read_text())["projects"][""]["name"] == NAMELESS
    assert not gone.exists()
