"""Revisions after a release: those of the release never change, and later ones only add."""

import ast
import re
import zipfile
from pathlib import Path

import pytest

from support.releases import OLDEST, ROOT, WHEELS

VERSIONS = "commonplace/storage/migrations/versions/"
REMOVALS = re.compile(
    r"\b(?:drop_\w+|alter_column|rename_table|batch_alter_table"
    r"|DROP\s+(?:TABLE|COLUMN|FUNCTION|VIEW|TYPE|SCHEMA)|RENAME|ALTER\s+COLUMN|TRUNCATE|DELETE\s+FROM)\b",
    re.IGNORECASE,
)


def upgrade_of(path: Path) -> str:
    """Return what a revision runs: the functions of its module but for ``downgrade``, or its script."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        return re.sub(r"--[^\n]*", "", text)
    functions = (each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef))
    return "\n".join(ast.unparse(each) for each in functions if each.name != "downgrade")


@pytest.fixture(scope="module")
def released() -> dict[str, bytes]:
    """The files of the revisions of the oldest release."""
    with zipfile.ZipFile(WHEELS / f"commonplace-{OLDEST}-py3-none-any.whl") as wheel:
        return {name: wheel.read(name) for name in wheel.namelist() if name.startswith(VERSIONS)}


@pytest.mark.requirement("UPG-06.2")
def test_revisions_of_a_release_never_change(released: dict[str, bytes]) -> None:
    """A database that has run them would differ from a new one."""
    assert len(released) > 20
    today = {name: (ROOT / "src" / name).read_bytes() for name in released}
    assert {name for name in released if today[name] != released[name]} == set()


@pytest.mark.requirement("UPG-06.2")
def test_later_revisions_only_add(released: dict[str, bytes]) -> None:
    """A process of the release before keeps working on the upgraded tables."""
    source = ROOT / "src"
    paths = [path for suffix in ("py", "sql") for path in (source / VERSIONS).rglob(f"*.{suffix}")]
    later = [path for path in paths if str(path.relative_to(source)) not in released]
    assert {path.name for path in later if REMOVALS.search(upgrade_of(path))} == set()


def test_a_revision_that_removes_is_seen(tmp_path: Path) -> None:
    """In Python and in SQL, but not in a comment or in the way back."""
    module = tmp_path / "ops_999_less.py"
    module.write_text(
        "def upgrade():\n    op.drop_column('a', 'b')\n\ndef downgrade():\n    op.drop_table('a')\n"
    )
    script = tmp_path / "mem_999_less.sql"
    script.write_text("-- RENAME nothing\nALTER TABLE a\n    DROP COLUMN b;\n")
    assert REMOVALS.findall(upgrade_of(module)) == ["drop_column"]
    assert REMOVALS.findall(upgrade_of(script)) == ["DROP COLUMN"]
