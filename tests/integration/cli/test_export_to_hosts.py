"""``commonplace export --to`` as a person uses it."""

import pytest

from support.commands import CommandLine

RULE = "Ask Ada before you deploy on a Friday"


@pytest.mark.requirement("MIR-01.6", "MIR-02.5")
def test_a_person_keeps_a_vault(commonplace: CommandLine, knowledge_url: str) -> None:
    """Written, edited in the vault, deleted there and forgotten in review."""

    def run(*words: str) -> str:
        done = commonplace(*words, COMMONPLACE_POSTGRES_URL=knowledge_url)
        assert done.status == 0, done.err
        return " ".join(done.out.split())

    run("knowledge", "store-rule", RULE)
    first = run("export", "--to", "obsidian", "vault", "--project", "global")
    assert "1 written" in first
    assert "nothing changed" in run("export", "--to", "obsidian", "vault", "--project", "global")
    (note,) = (commonplace.directory / "vault").glob("*.md")
    note.write_text(note.read_text().replace("\n\nAsk Ada", "\n\nAsk Bea"))
    assert "1 edited" in run("export", "--to", "obsidian", "vault", "--project", "global")
    assert "Ask Bea" in run("know", "deploy on a Friday")
    (commonplace.directory / "vault" / "mine.md").write_text("My own note.")
    note.unlink()
    assert "1 deleted" in run("export", "--to", "obsidian", "vault", "--project", "global")
    listed = run("review")
    assert "was deleted" in listed
    item = next(word for word in listed.split() if word.startswith("r:"))
    run("review", item, "forget")
    assert "nothing changed" in run("export", "--to", "obsidian", "vault", "--project", "global")
    assert "was deleted" not in run("review")
    assert "no longer kept" in run("export", "--to", "obsidian", "vault", "--stop")
    assert (commonplace.directory / "vault" / "mine.md").read_text() == "My own note."


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("export", "all", "--choose", "pinned"), "--to"),
        (("export", "notes.md", "--to", "obsidian", "--project", "global"), "a folder"),
        (("export", "notes.txt", "--to", "agents-md", "--project", "global"), "ends in .md"),
        (("export", "vault", "--to", "obsidian", "--stop"), "no mirror"),
        (("export", "vault", "--to", "obsidian"), "this directory is no project yet"),
        (("export", "vault", "--to", "obsidian", "--project", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_written_is_an_error(
    commonplace: CommandLine, words: tuple[str, ...], expected: str
) -> None:
    """Which says what was expected, before anything is opened."""
    for name in ("notes.md", "notes.txt"):
        (commonplace.directory / name).write_text("mine")
    done = commonplace(*words)
    assert done.status != 0
    assert expected in done.err
    assert not (commonplace.directory / "vault").exists()
