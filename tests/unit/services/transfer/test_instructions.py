"""Instructions of agent hosts: which lines are rules, for which files they are, and which files are included."""

from pathlib import Path

import pytest

from commonplace.knowledge import RuleDraft
from commonplace.services.transfer.importers import ImportSource, instructions, source_of
from commonplace.services.transfer.items import Unreadable

TEXT = """\
---
paths:
  - "src/**/*.ts"
---
# Shop

<important>
Never push to main.
</important>

@docs/style.md and @~/.claude/me.md

## Commands
| task | command |
|---|---|
| build | `make build` |

a | b
--|--
c | d

## Rules
- Use tabs
  - except in YAML
1. Run the linter
   before each commit

- [ ] rename the job
  and its table
- [x] done

***

```bash
# not a heading
make all | cat
```

> [!NOTE]
> Ask before deleting

<!-- hidden
- note -->

Setext heading
--------------

~~- old rule~~
- ~~struck~~
~~over two
lines~~

Ask @ines before deploys.

 - indented item
 - second item
"""


def rules(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    """Return the texts and headings of the rules in a file or folder."""
    return [
        (item.content, tuple(item.tags or ())[1:])
        for item in instructions.read(path)
        if isinstance(item, RuleDraft)
    ]


def test_only_rules_are_read_each_with_its_heading(tmp_path: Path) -> None:
    """No tasks, struck-out text, tables, tags, comments and underlines; the paths stand before the text."""
    path = tmp_path / "CLAUDE.md"
    path.write_text(TEXT)
    assert rules(path) == [
        ("For src/**/*.ts: Never push to main.", ("Shop",)),
        ("For src/**/*.ts: Use tabs\n  - except in YAML", ("Shop", "Rules")),
        ("For src/**/*.ts: Run the linter\n   before each commit", ("Shop", "Rules")),
        ("For src/**/*.ts:\n```bash\n# not a heading\nmake all | cat\n```", ("Shop", "Rules")),
        ("For src/**/*.ts: Ask before deleting", ("Shop", "Rules")),
        ("For src/**/*.ts: Ask @ines before deploys.", ("Shop", "Setext heading")),
        ("For src/**/*.ts: indented item", ("Shop", "Setext heading")),
        ("For src/**/*.ts: second item", ("Shop", "Setext heading")),
    ]
    (first, *_) = instructions.read(path)
    assert isinstance(first, RuleDraft)
    assert first.metadata == {"paths": ["src/**/*.ts"]}


@pytest.mark.parametrize(
    ("front", "content", "paths"),
    [
        ("globs: *.ts,src/{a,b}/*", "For *.ts, src/{a,b}/*: Use tabs", ["*.ts", "src/{a,b}/*"]),
        ("applyTo: '**'", "Use tabs", ["**"]),
        ("globs: *.ts\nalwaysApply: true", "Use tabs", None),
        ("globs:\nalwaysApply: false", "Use tabs", None),
    ],
)
def test_the_paths_of_other_hosts(tmp_path: Path, front: str, content: str, paths: list[str] | None) -> None:
    """Patterns with commas, and those that mean all files."""
    path = tmp_path / "a.mdc"
    path.write_text(f"---\n{front}\n---\nUse tabs\n")
    assert source_of(path) == ImportSource.INSTRUCTIONS
    (rule,) = (item for item in instructions.read(path) if isinstance(item, RuleDraft))
    assert (rule.content, rule.metadata and rule.metadata["paths"]) == (content, paths)


def test_an_open_code_block_ends_with_the_file(tmp_path: Path) -> None:
    """Its text is not lost."""
    path = tmp_path / "AGENTS.md"
    path.write_text("Run:\n```sh\nmake\n")
    assert rules(path) == [("Run:\n```sh\nmake", ())]


def test_included_files_are_read_within_the_repository(tmp_path: Path) -> None:
    """Once each, five deep, in no circles, and never from outside; a folder is read with all its files."""
    repository = tmp_path / "shop"
    files = {
        "CLAUDE.md": (
            "See @docs/a.md, also @docs/missing.md\n\n"
            "Follow @docs/b.md here, as @ines says `@docs/code.md`.\n"
        ),
        "AGENTS.md": "@CLAUDE.md\n\n@../outside.md @/etc/hostname @docs/link.md @.env\n\n@ines reviews.\n",
        "docs/a.md": "Rule a\n\n@b.md\n\n@../CLAUDE.md",
        "docs/b.md": "Rule b\n\n@deep1.md\n",
        "docs/code.md": "Rule of code",
        ".env": "SECRET=1",
        ".cursor/rules/ts.mdc": "---\nglobs: '*.ts'\n---\nRule of Cursor\n\n@../../docs/c.md",
        "docs/c.md": "Rule c",
        ".github/instructions/x.instructions.md": "Rule of Copilot",
        **{f"docs/deep{n}.md": f"Deep {n}\n\n@deep{n + 1}.md" for n in range(1, 9)},
    }
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    (repository / ".git").mkdir()
    (tmp_path / "outside.md").write_text("Outside")
    (repository / "docs" / "link.md").symlink_to(tmp_path / "outside.md")
    assert source_of(repository) == ImportSource.INSTRUCTIONS
    assert [content for content, _ in rules(repository)] == [
        "Follow @docs/b.md here, as @ines says `@docs/code.md`.",
        *("Rule a", "Rule b", "Deep 1", "Deep 2", "Deep 3"),
        *("@ines reviews.", "For *.ts: Rule of Cursor", "For *.ts: Rule c", "Rule of Copilot"),
    ]
    assert rules(repository / "docs" / "a.md")[0] == ("Rule a", ())


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The other files of the folder are read."""
    (tmp_path / "CLAUDE.md").mkdir()
    (tmp_path / "AGENTS.md").write_bytes(b"\xff")
    (tmp_path / "GEMINI.md").write_text("Be kind")
    assert [item.place for item in instructions.read(tmp_path) if isinstance(item, Unreadable)] == [
        "CLAUDE.md",
        "AGENTS.md",
    ]
    assert rules(tmp_path) == [("Be kind", ())]
