"""Named statements are called as their SQL defines them; no database is needed to see it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import commonplace
from commonplace.storage.database import load_queries

PACKAGE = Path(commonplace.__file__).parent
ATTRIBUTES_OF_STATEMENTS = {"connection"}


def statement_uses(directory: Path) -> Iterator[tuple[str, str, set[str] | None]]:
    """Yield the place, name and parameters of each ``sql.name(…)``; ``None`` for parameters passed by ``**``."""
    for path in sorted(directory.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        spelled = {
            node.func: {keyword.arg for keyword in node.keywords if keyword.arg}
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and all(keyword.arg for keyword in node.keywords)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "sql"
            ):
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                yield place, node.attr, spelled.get(node)


@pytest.mark.parametrize("memory", ["access", "apps", "knowledge", "operational"])
def test_every_call_names_a_statement_and_its_parameters(memory: str) -> None:
    """A misspelt statement, a missing parameter and one too many are found."""
    directories = sorted(path for path in (PACKAGE / memory).rglob("sql") if path.is_dir())
    queries = load_queries(directories, "postgresql")
    wrong: list[str] = []
    calls = 0
    for place, name, parameters in statement_uses(PACKAGE / memory):
        if name in ATTRIBUTES_OF_STATEMENTS:
            continue
        calls += 1
        statement = getattr(queries, name, None)
        if statement is None:
            wrong.append(f"{place}: no statement is named {name}")
        elif parameters is not None and parameters != set(statement.parameters or ()):
            wrong.append(
                f"{place}: {name} takes {sorted(statement.parameters or ())}, not {sorted(parameters)}"
            )
    assert not wrong, "\n".join(wrong)
    assert calls > 5
