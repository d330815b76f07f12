"""``commonplace sources`` as a person uses it."""

import pytest

from support.commands import CommandLine, Done


class Sources:
    """The commands, on an empty database."""

    def __init__(self, commonplace: CommandLine, database: str) -> None:
        self._commonplace = commonplace
        self._database = database

    def __call__(self, *words: str) -> Done:
        """Run a command and return how it ended."""
        return self._commonplace("sources", *words, COMMONPLACE_POSTGRES_URL=self._database)

    def know(self, query: str) -> str:
        """Search all memories."""
        return self._commonplace("know", query, COMMONPLACE_POSTGRES_URL=self._database).out


@pytest.fixture
def sources(commonplace: CommandLine, knowledge_url: str) -> Sources:
    """The commands, with a file of rules in the directory."""
    (commonplace.directory / "AGENTS.md").write_text(
        "# Deploys\n- Ask Ada before a deployment\n- Tag releases\n"
    )
    return Sources(commonplace, knowledge_url)


@pytest.mark.requirement("FOL-01.1", "FOL-01.4")
def test_a_file_is_followed_until_it_is_removed(sources: Sources, commonplace: CommandLine) -> None:
    """Previewed, added once, read again after a change, paused, and removed with its memories."""
    assert "No sources yet" in sources("list").out
    preview = sources("add", "AGENTS.md", "--project", "global", "--dry-run")
    assert "Ask Ada before a deployment" in preview.out
    assert "No sources yet" in sources("list").out

    added = sources("add", "AGENTS.md", "--project", "global", "--json").json
    assert added["changes"] == dict.fromkeys(added["changes"], 0) | {"new": 2}
    again = sources("add", "AGENTS.md", "--project", "global")
    assert (again.status, "is followed already" in again.err) == (1, True), again.err

    file = commonplace.directory / "AGENTS.md"
    file.write_text("# Deploys\n- Ask Bea before a deployment\n- Tag releases\n")
    assert "1 changed" in sources("read").out
    assert "nothing changed" in sources("read").out
    assert "Ask Bea" in sources.know("deployment")
    name = added["source"]["id"]
    assert "AGENTS.md" in sources("show", name).out

    assert sources("pause", name).status == 0
    file.write_text("- Nothing\n")
    assert "nothing changed" in sources("read").out
    assert sources("resume", str(file)).status == 0
    removed = sources("remove", name, "--json").json
    assert removed["changes"]["retired"] == 2
    assert "Ask Bea" not in sources.know("deployment")
    assert file.read_text() == "- Nothing\n"


@pytest.mark.requirement("FOL-01.3")
def test_a_wrong_path_or_name_is_a_clear_error(sources: Sources) -> None:
    """Nothing is added."""
    gone = sources("add", "nowhere")
    assert (gone.status, "no such file or folder" in gone.err) == (1, True), gone.err
    nobody = sources("add", "AGENTS.md")
    assert (nobody.status, "this directory is no project yet" in nobody.err) == (1, True), nobody.err
    unknown = sources("show", "s-000000")
    assert (unknown.status, "no source" in unknown.err) == (1, True), unknown.err
    assert "No sources yet" in sources("list").out
