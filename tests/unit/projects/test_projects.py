"""Identity of projects: two of one name share nothing; moves and worktrees keep it, clones and copies do not."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing.pool import ThreadPool
from pathlib import Path

import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.errors import ConflictError, InvalidInputError, NotFoundError, SettingsError
from commonplace.projects import Projects
from support.git_repositories import git, repository

pytestmark = pytest.mark.requirement("PRJ-01.1")
START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands still."""
    return ManualClock(START)


@pytest.fixture
def projects(tmp_path: Path, clock: ManualClock) -> Projects:
    """Return the projects of a new home."""
    return Projects(tmp_path / "home", clock=clock)


def folder(path: Path) -> Path:
    """Make a directory."""
    path.mkdir(parents=True)
    return path


@pytest.mark.parametrize("make", [repository, folder])
def test_two_projects_of_one_name_have_two_identities(
    tmp_path: Path, projects: Projects, make: Callable[[Path], Path]
) -> None:
    """clientA/api and clientB/api share nothing."""
    one, other = make(tmp_path / "clientA/api"), make(tmp_path / "clientB/api")
    assert projects.butler_at(one) != projects.butler_at(other)
    assert projects.at(one).name == projects.at(other).name == "api"
    assert projects.butler_at(one) == projects.butler_at(one)


@pytest.mark.parametrize("make", [repository, folder])
def test_a_move_keeps_the_identity(tmp_path: Path, projects: Projects, make: Callable[[Path], Path]) -> None:
    """The directory has another name afterwards; the project has its old one and its new path."""
    before = projects.at(make(tmp_path / "shop"))
    (tmp_path / "shop").rename(tmp_path / "store")
    after = projects.at(tmp_path / "store")
    assert (after.id, after.name, after.path) == (before.id, "shop", tmp_path / "store")


def test_worktrees_share_the_identity_of_their_repository(tmp_path: Path, projects: Projects) -> None:
    """A worktree's own directory and one below it."""
    main = repository(tmp_path / "api")
    git(main, "worktree", "add", "../fix")
    (tmp_path / "fix/src").mkdir()
    assert projects.butler_at(tmp_path / "fix/src") == projects.butler_at(main)


def test_a_clone_gets_an_identity_of_its_own_and_looks_like_the_other(
    tmp_path: Path, projects: Projects
) -> None:
    """The first commit is the clue."""
    first = projects.at(repository(tmp_path / "api"))
    git(tmp_path, "clone", "api", "again")
    clone = projects.at(tmp_path / "again")
    assert clone.id != first.id
    assert clone.looks_like == (first.id,)
    assert first.looks_like == ()


@pytest.mark.parametrize("make", [repository, folder])
def test_a_copy_gets_an_identity_of_its_own(
    tmp_path: Path, projects: Projects, make: Callable[[Path], Path]
) -> None:
    """The file with the identity was copied too; the original keeps it."""
    first = projects.at(make(tmp_path / "api"))
    shutil.copytree(tmp_path / "api", tmp_path / "copy")
    copy = projects.at(tmp_path / "copy")
    assert copy.id != first.id
    assert first.id in copy.looks_like
    assert projects.at(tmp_path / "api").id == first.id


def test_a_directory_that_is_installed_into_on_its_own_is_a_project_of_its_own(
    tmp_path: Path, projects: Projects
) -> None:
    """Directories below it belong to it; the rest belongs to the repository."""
    top = repository(tmp_path / "mono")
    (top / "services/pay/src").mkdir(parents=True)
    (top / "docs").mkdir()
    pay = projects.create(top / "services/pay")
    assert (pay.name, projects.create(top / "services/pay").id) == ("pay", pay.id)
    assert projects.butler_at(top / "services/pay/src") == pay.id
    assert projects.butler_at(top / "docs") == projects.butler_at(top) != pay.id
    assert projects.at(top).looks_like == ()


def test_a_merged_project_uses_the_memory_of_the_other_until_that_is_undone(
    tmp_path: Path, projects: Projects
) -> None:
    """Also over two steps; a circle is refused."""
    one, two, three = (projects.at(folder(tmp_path / name)) for name in ("one", "two", "three"))
    projects.set_merged(one.id, two.id)
    projects.set_merged(two.id, three.id)
    assert projects.butler_at(tmp_path / "one") == three.id
    with pytest.raises(ConflictError, match="uses the memory"):
        projects.set_merged(three.id, one.id)
    projects.set_merged(one.id, None)
    assert projects.butler_at(tmp_path / "one") == one.id


def test_a_project_is_found_by_id_and_by_a_name_that_only_one_has(tmp_path: Path, projects: Projects) -> None:
    """A name of several projects lists them."""
    one, other = projects.at(folder(tmp_path / "a/api")), projects.at(folder(tmp_path / "b/api"))
    with pytest.raises(InvalidInputError, match=f"{one.id} at "):
        projects.get("api")
    assert projects.rename(one.id, " Billing ").name == "Billing"
    assert projects.get("Billing").id == one.id
    assert projects.get("api").id == other.id
    assert projects.at(tmp_path / "a/api").name == "Billing"
    with pytest.raises(NotFoundError):
        projects.get("unknown")
    with pytest.raises(InvalidInputError):
        projects.rename(one.id, " ")


def test_the_last_visit_is_noted_once_a_day(tmp_path: Path, projects: Projects, clock: ManualClock) -> None:
    """The list shows the project first that was seen last."""
    old, new = folder(tmp_path / "old"), folder(tmp_path / "new")
    first = projects.at(old)
    clock.advance(hours=1)
    second = projects.at(new)
    assert projects.at(old).seen_at == START
    assert [each.id for each in projects.list_projects()] == [second.id, first.id]
    clock.advance(days=2)
    assert projects.at(old).seen_at == clock()


def test_looking_for_a_project_creates_none(tmp_path: Path, projects: Projects) -> None:
    """Neither a file nor an entry."""
    directory = folder(tmp_path / "api")
    assert projects.find(directory) is None
    assert list(directory.iterdir()) == []
    created = projects.at(directory)
    assert projects.find(directory) == created


@pytest.mark.parametrize("text", ["", "[]", '{"projects": {"": {}}}', '{"projects": []}'])
def test_a_damaged_file_is_named_and_not_replaced(tmp_path: Path, projects: Projects, text: str) -> None:
    """The memory of a project must not be lost with a broken file."""
    file = folder(tmp_path / "api/.commonplace") / "project.json"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"project\.json"):
        projects.at(tmp_path / "api")
    assert file.read_text() == text


def test_visitors_at_once_agree_on_one_identity(tmp_path: Path) -> None:
    """Two homes on one repository, eight visits of each."""
    directory = repository(tmp_path / "api")
    homes = [tmp_path / "home1", tmp_path / "home2"] * 8
    with ThreadPool(8) as pool:
        ids = pool.map(lambda home: Projects(home).butler_at(directory), homes)
    assert len(set(ids)) == 1


def test_names_of_any_script_give_a_plain_id(tmp_path: Path, projects: Projects) -> None:
    """The readable name stays as it is."""
    project = projects.at(folder(tmp_path / "Größe & Maß"))
    assert project.name == "Größe & Maß"
    assert project.id.rpartition("-")[0] == "groe-ma"
    assert projects.at(folder(tmp_path / "天気")).id.startswith("project-")


def unwritable(place: Path) -> Path:
    """Make a place where no identity can be written: in Git the lock cannot be opened, elsewhere the directory."""
    if (place / ".git").is_dir():
        (place / ".git/commonplace.json.lock").mkdir()
    else:
        (place / ".commonplace").touch()
    return place


def writable(place: Path) -> None:
    """Take back what made a place unwritable."""
    if (place / ".git").is_dir():
        (place / ".git/commonplace.json.lock").rmdir()
    else:
        (place / ".commonplace").unlink()


@pytest.mark.parametrize("make", [repository, folder])
def test_a_project_that_cannot_be_written_has_its_identity_in_the_home(
    tmp_path: Path, projects: Projects, clock: ManualClock, make: Callable[[Path], Path]
) -> None:
    """The id stays, two of one name share nothing, and a project that can be written again gets its identity back."""
    one, other = (unwritable(make(tmp_path / client / "api")) for client in ("a", "b"))
    project = projects.at(one)
    assert projects.keeps_identity_of(project)
    assert (project.name, project.path) == ("api", one)
    assert project.id != projects.butler_at(other)
    assert projects.find(one) == projects.at(one) == project
    projects.prepare(one)
    assert [each.id for each in projects.list_projects() if each.path == one] == [project.id]

    writable(one)
    clock.advance(days=2)
    moved = projects.at(one)
    assert (moved.id, projects.keeps_identity_of(moved)) == (project.id, False)
    assert projects.find(one) == moved
    assert projects.at(other).id != moved.id


def test_a_repository_that_another_user_owns_keeps_its_identities(tmp_path: Path, clock: ManualClock) -> None:
    """A home that can only read them uses them; an identity for a sub-directory is its own."""
    top = repository(tmp_path / "api")
    (top / "pay").mkdir()
    theirs = Projects(tmp_path / "theirs", clock=clock).at(top)
    lock = top / ".git/commonplace.json.lock"
    lock.unlink()
    lock.mkdir()
    mine = Projects(tmp_path / "mine", clock=clock)
    assert mine.at(top).id == theirs.id
    assert not mine.keeps_identity_of(mine.at(top))
    inner = mine.create(top / "pay")
    assert (mine.keeps_identity_of(inner), mine.butler_at(top / "pay")) == (True, inner.id)
    assert mine.butler_at(top) == theirs.id
    writable(top)
    clock.advance(days=2)
    assert (mine.butler_at(top), mine.butler_at(top / "pay")) == (theirs.id, inner.id)


def notes(directory: Path) -> Path:
    """Give a directory workspace memory."""
    (directory / ".aegis").mkdir(parents=True)
    return directory


def test_directories_of_a_repository_share_the_nearest_workspace_memory(
    tmp_path: Path, projects: Projects
) -> None:
    """Before the repository is a project, too; nothing outside of the repository counts."""
    top = repository(notes(tmp_path) / "shop")
    below = folder(top / "api/src")
    assert projects.workspace_of(below) == below
    assert projects.workspace_of(notes(top)) == projects.workspace_of(below) == top
    assert projects.workspace_of(notes(top / "api/src/deep")) == top / "api/src/deep"


def test_a_project_without_workspace_memory_gets_it_in_its_own_directory(
    tmp_path: Path, projects: Projects
) -> None:
    """Wherever in the project somebody works."""
    top = repository(tmp_path / "shop")
    below = folder(top / "api")
    projects.at(below)
    assert projects.workspace_of(below) == top
    assert projects.workspace_of(folder(tmp_path / "elsewhere")) == tmp_path / "elsewhere"


def test_a_project_inside_a_repository_has_workspace_memory_of_its_own(
    tmp_path: Path, projects: Projects
) -> None:
    """The notes of the repository are not those of a directory with an installation of its own."""
    top = repository(tmp_path / "shop")
    notes(top)
    inner = projects.create(folder(top / "services/pay")).path
    assert projects.workspace_of(folder(inner / "src")) == inner
    assert projects.workspace_of(top / "services") == top


def test_a_damaged_identity_leaves_the_workspace_where_it_is(tmp_path: Path, projects: Projects) -> None:
    """Commands that need no project go on."""
    top = repository(tmp_path / "shop")
    (top / ".git/commonplace.json").write_text("broken")
    assert projects.workspace_of(top) == top
