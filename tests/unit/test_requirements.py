"""Every requirement has a test, and every test names requirements that exist."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reference" / "requirements.md"
INDEX = tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))


def known_ids() -> set[str]:
    """Return the id of every requirement, of every scenario and of every reading."""
    scenarios = {
        f"{memory}-{number}.{scenario}"
        for memory, requirements in INDEX["scenarios"].items()
        for number, count in requirements.items()
        for scenario in range(1, count + 1)
    }
    readings = {
        f"R-{memory}-{number}"
        for memory, count in INDEX["readings"].items()
        for number in range(1, count + 1)
    }
    return scenarios | readings | {scenario.partition(".")[0] for scenario in scenarios}


def ids_expected() -> set[str]:
    """Return the ids that must have a test: of every scenario and of every reading."""
    return {name for name in known_ids() if "." in name or name.startswith("R-")}


@cache
def ids_tested() -> dict[str, set[str]]:
    """Return for each id that a test's marker names the files that name it."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="requirement"), args=ids):
                    for each in ids:
                        found.setdefault(ast.literal_eval(each), set()).add(path.name)
                case _:
                    pass
    return found


def test_every_requirement_has_a_test() -> None:
    """No scenario and no reading is without one."""
    assert ids_expected() - set(ids_tested()) == set()


def test_every_requirement_is_explained() -> None:
    """What an id in a docstring means can be looked up, and nothing else is promised."""
    explained = re.findall(r"^\| ((?:R-)?[A-Z]{3}-\d+) \| \S", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(explained) == len(set(explained))
    assert set(explained) == {name for name in known_ids() if "." not in name}


def test_every_id_in_the_code_exists() -> None:
    """A docstring that cites a requirement cites one that can be looked up."""
    groups = "|".join(INDEX["scenarios"])
    pattern = re.compile(rf"\b(?:R-)?(?:{groups})-\d+(?:\.\d+)?\b")
    sources = (TESTS.parent / "src").rglob("*.*")
    cited = {
        (name, path.name)
        for path in sources
        if path.suffix in {".py", ".sql", ".md"}
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    }
    assert {(name, file) for name, file in cited if name not in known_ids()} == set()


def test_every_id_that_a_test_names_exists() -> None:
    """A misspelt id would look like a requirement that is shown."""
    unknown = {name: files for name, files in ids_tested().items() if name not in known_ids()}
    assert unknown == {}
