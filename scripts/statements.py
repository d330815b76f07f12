"""Write the types of the named SQL statements into stubs, from the headers in the ``.sql`` files.

    python scripts/statements.py            write the stubs
    python scripts/statements.py --check    exit with 1 if they are out of date

A package with named statements has a module ``statements.py``, which derives a class from ``Statements`` for each set
of files that it loads together. The stub beside the module, ``statements.pyi``, gives the classes a method for each
statement. A statement belongs to the first class of the module, unless its file says ``-- class: NAME`` at the top.

A header is ``-- name: NAME(PARAMETERS)MARK``. The mark determines the result: rows without a mark, one row or ``None``
with ``^``, one value with ``$``, no result with ``!``. Lines below it say what the mark does not:

    -- returns: int | None             the type of a value; ``Row`` where there is always a row
    -- columns: app_id str, units int  the columns that the program reads by their names
"""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1] / "src" / "commonplace"
LINE_LENGTH: Final = 110
RESULTS: Final[Mapping[str, str]] = {"": "list[Row]", "^": "Row | None", "!": "object"}
"""The result of a statement by its mark; the drivers disagree about the number of changed rows."""

MODULES: Final[Mapping[str, str]] = {
    "TypedDict": "typing",
    "UUID": "uuid",
    "date": "datetime",
    "datetime": "datetime",
}
"""The module of each type that the stubs import."""

TYPES: Final = {*MODULES, "Row", "None", "bool", "bytes", "dict", "float", "int", "list", "object", "str"}
"""The words that a type may consist of; Any is none of them."""

_HEADER: Final = re.compile(r"-- name: (?P<name>\w+)(?P<parameters>\(.*\))?(?P<mark>[\^$!]?)\$?")
_COLUMN: Final = re.compile(r"(\w+) (.+?)(?:, (?=\w+ )|$)")


class HeaderError(ValueError):
    """A header says too little, or something that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A named statement as its header declares it.

    Attributes:
        parameters: Their names; ``None`` if the statement takes any.
        columns: The type of each column that is read by its name.
    """

    name: str
    parameters: tuple[str, ...] | None
    returns: str
    columns: Mapping[str, str]

    @property
    def row(self) -> str:
        """The name of the class of its rows."""
        return f"_{self.name.title().replace('_', '')}Row" if self.columns else "Row"

    @property
    def result(self) -> str:
        """The type of its result."""
        return re.sub(r"\bRow\b", self.row, self.returns)


def main() -> int:
    """Write the stubs, or tell with ``--check`` whether they are up to date."""
    stale = {path: text for path, text in stubs(PACKAGE).items() if _read(path) != text}
    if "--check" not in sys.argv[1:]:
        for path, text in stale.items():
            path.write_text(text, encoding="utf-8")
        return 0
    for path in stale:
        print(f"{path.relative_to(PACKAGE)} is out of date. Run: make statements")
    return 1 if stale else 0


def stubs(package: Path) -> dict[Path, str]:
    """Return the text of each stub by its path.

    Raises:
        HeaderError: A header cannot be read, or a file names an unknown class.
    """
    return {module.with_suffix(".pyi"): _stub(sets_of(module, package)) for module in modules(package)}


def modules(package: Path) -> list[Path]:
    """Return the modules that derive classes from ``Statements``."""
    return [module for module in sorted(package.rglob("statements.py")) if _classes(module)]


def sets_of(module: Path, package: Path) -> dict[str, list[Statement]]:
    """Return the statements of each class of a module.

    Raises:
        HeaderError: A header cannot be read, or a file names an unknown class.
    """
    sets: dict[str, list[Statement]] = {name: [] for name in _classes(module)}
    folder = package / module.relative_to(package).parts[0]
    for path in sorted(folder.rglob("*.sql"), key=lambda path: (path.name, path)):
        text = _read(path)
        name = (re.findall(r"\A-- class: (\w+)$", text, re.MULTILINE) or list(sets))[0]
        if name not in sets:
            raise HeaderError(f"{path}: {module} has no class {name}")
        sets[name] += statements(text)
    return sets


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a file.

    Raises:
        HeaderError: A header cannot be read, or a value has no type.
    """
    for block in re.split(r"^(?=-- name:)", text, flags=re.MULTILINE)[1:]:
        line = block.partition("\n")[0].rstrip()
        header = _HEADER.fullmatch(line)
        if header is None:
            raise HeaderError(f"expected -- name: NAME(PARAMETERS)MARK, got {line!r}")
        returns = "".join(_notes("returns", block)) or RESULTS.get(header["mark"])
        if returns is None:
            raise HeaderError(f"{header['name']} returns a value: add a line -- returns: TYPE")
        parameters = header["parameters"]
        columns: dict[str, str] = dict(_COLUMN.findall(", ".join(_notes("columns", block))))
        _require_types(header["name"], returns, *columns.values())
        yield Statement(
            name=header["name"],
            parameters=None if parameters is None else tuple(re.findall(r"\w+", parameters)),
            returns=returns,
            columns=columns,
        )


def _require_types(name: str, *types: str) -> None:
    for word in re.findall(r"\w+", " ".join(types)):
        if word not in TYPES:
            raise HeaderError(f"{name} has the type {word}: expected one of {', '.join(sorted(TYPES))}")


def _notes(word: str, block: str) -> list[str]:
    return re.findall(rf"^-- {word}: (.+?),?$", block, re.MULTILINE)


def _stub(sets: Mapping[str, list[Statement]]) -> str:
    body = "\n\n".join(_class(name, members) for name, members in sets.items())
    head = "# Made by scripts/statements.py from the headers of the .sql files."
    return f"{head}\n{_imports(body)}\n\n{body}\n"


def _classes(module: Path) -> list[str]:
    """Return the names of the classes that a module derives from ``Statements``."""
    tree = ast.parse(_read(module))
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["Statements"]
    ]


def _class(name: str, members: list[Statement]) -> str:
    rows = [
        f"class {each.row}(TypedDict):\n"
        + "\n".join(f"    {key}: {kind}" for key, kind in each.columns.items())
        for each in members
        if each.columns
    ]
    methods = "\n".join(method(each) for each in members)
    return "\n\n".join([*rows, f"class {name}(Statements):\n{methods}"])


def method(statement: Statement) -> str:
    """Return the lines of a method, wrapped as ruff wraps them."""
    if statement.parameters is None:
        parameters = ["self", "**parameters: object"]
    else:
        named = [f"{name}: object" for name in statement.parameters]
        parameters = ["self", "*", *named] if named else ["self"]
    start, end = f"    async def {statement.name}(", f") -> {statement.result}: ..."
    line = ", ".join(parameters)
    if len(start + line + end) <= LINE_LENGTH:
        return start + line + end
    if len(line) + 8 <= LINE_LENGTH:
        return f"{start}\n        {line}\n    {end}"
    return "\n".join([start, *(f"        {each}," for each in parameters), f"    {end}"])


def _imports(body: str) -> str:
    """Return the imports of the names in a stub."""
    words = set(re.findall(r"\w+", body))
    names: dict[str, list[str]] = {}
    for name in sorted(words & MODULES.keys()):
        names.setdefault(MODULES[name], []).append(name)
    standard = [f"from {module} import {', '.join(names[module])}" for module in sorted(names)]
    storage = f"from commonplace.storage.database import {'Row, ' if 'Row' in words else ''}Statements"
    return "\n".join([*standard, *([""] if standard else []), storage])


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
