"""The types of named statements: the stub of each memory says what the headers in its ``.sql`` files say."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from string import Template
from typing import Any

import pytest
from aiosql.adapters.asyncpg import AsyncPGAdapter
from aiosql.query_loader import QueryLoader

import commonplace
from commonplace.knowledge.model.kinds import MemoryType
from commonplace.knowledge.store import queue_work
from commonplace.knowledge.store.table_statements import table_queries
from commonplace.knowledge.store.unit_of_work import kind_queries, queries
from commonplace.storage.database import StatementLoader, Statements, StatementSet
from support.scripts import script
from support.statements import declarations

PACKAGE = Path(commonplace.__file__).parent
MADE = script("statements")
STUBS = sorted(PACKAGE.rglob("statements.pyi"))
LOADED: tuple[tuple[StatementSet, ...], ...] = (
    (queries(),),
    tuple(map(kind_queries, MemoryType)),
    (table_queries("facts"),),
    (queue_work.queries(),),
)
"""The sets of knowledge memory that are loaded from several folders; the other memories load one folder each."""


def classes(stub: Path) -> Iterator[ast.ClassDef]:
    """Yield the classes of statements in a stub."""
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name in declarations():
            yield node


@pytest.mark.requirement("FLR-05.1")
def test_the_stubs_are_those_of_the_headers() -> None:
    """`make check` says so, too; each module of statements has a stub."""
    made = MADE.stubs(PACKAGE)
    assert sorted(made) == STUBS
    assert [path for path, text in made.items() if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.requirement("FLR-05.1")
def test_each_statement_has_a_type() -> None:
    """Every header of every file is a method whose result is not Any, and nothing else answers to a name."""
    methods = [
        method
        for stub in STUBS
        for kind in classes(stub)
        for method in kind.body
        if isinstance(method, ast.AsyncFunctionDef)
    ]
    headers = chain.from_iterable(
        re.findall(r"^-- name: (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in PACKAGE.rglob("*.sql")
    )
    assert sorted(method.name for method in methods) == sorted(headers)
    assert [method.name for method in methods if method.returns is None] == []
    text = "".join(stub.read_text(encoding="utf-8") for stub in STUBS)
    assert re.findall(r"\bAny\b|__getattr__", text) == []


def test_no_type_checker_sees_that_names_are_looked_up_at_run_time() -> None:
    """Otherwise a misspelt statement would have the type Any."""
    source = ast.parse((PACKAGE / "storage" / "database.py").read_text(encoding="utf-8"))
    (kind,) = (node for node in source.body if isinstance(node, ast.ClassDef) and node.name == "Statements")
    seen = [node for node in kind.body if not isinstance(node, ast.If)]
    assert "__getattr__" not in "\n".join(map(ast.unparse, seen))
    assert hasattr(Statements, "__getattr__")


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_each_class_of_a_stub_is_a_class_at_run_time(stub: Path) -> None:
    """The stub hides the module beside it from the type checker."""
    name = ".".join(("commonplace", *stub.relative_to(PACKAGE).with_suffix("").parts))
    module = import_module(name)
    for each in classes(stub):
        assert issubclass(getattr(module, each.name), Statements)


@pytest.mark.parametrize("loaded", LOADED, ids=lambda loaded: loaded[0].kind.__name__)
def test_a_set_has_the_statements_of_its_class(loaded: tuple[StatementSet, ...]) -> None:
    """A file that says another class than the one it is loaded for would give other types than statements."""
    names = {name for each in loaded for name in each.names}
    assert names == declarations()[loaded[0].kind.__name__].keys()


@pytest.mark.parametrize("owner", sorted(stub.relative_to(PACKAGE).parts[0] for stub in STUBS))
def test_each_statement_is_used(owner: str) -> None:
    """No statement is left over; names that are put together at run time count where a string begins them."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (PACKAGE / owner).rglob("*.py"))
    words = set(re.findall(r"\w+", sources))
    prefixes = tuple(re.findall(r'f"(\w+_)\{', sources))
    texts = (path.read_text(encoding="utf-8") for path in (PACKAGE / owner).rglob("*.sql"))
    names = [statement.name for text in texts for statement in MADE.statements(text)]
    assert len(names) == len(set(names))
    assert [name for name in names if name not in words and not name.startswith(prefixes)] == []


@pytest.mark.parametrize(
    ("header", "method"),
    [
        ("-- name: list_runs(limit)", "list_runs(self, *, limit: object) -> list[Row]: ..."),
        ("-- name: get_run(id)^", "get_run(self, *, id: object) -> Row | None: ..."),
        ("-- name: begin()^\n-- returns: Row", "begin(self) -> Row: ..."),
        ("-- name: drop(id)!", "drop(self, *, id: object) -> object: ..."),
        ("-- name: count()$\n-- returns: int", "count(self) -> int: ..."),
        ("-- name: count()$$\n-- returns: int", "count(self) -> int: ..."),
        ("-- name: search", "search(self, **parameters: object) -> list[Row]: ..."),
        ("-- name: keys()\n-- columns: id UUID, at int | None", "keys(self) -> list[_KeysRow]: ..."),
        ("-- name: key()^\n-- columns: id UUID,\n-- columns: at int", "key(self) -> _KeyRow | None: ..."),
    ],
)
def test_a_header_becomes_a_method(header: str, method: str) -> None:
    """The mark and the lines below the name determine the result."""
    (statement,) = MADE.statements(f"{header}\n-- A sentence.\nSELECT 1;")
    assert MADE.method(statement) == f"    async def {method}"


def test_columns_are_split_between_types() -> None:
    """A comma inside a type belongs to it."""
    (statement,) = MADE.statements("-- name: get()^\n-- columns: a dict[str, int] | None, b str\nSELECT 1;")
    assert statement.columns == {"a": "dict[str, int] | None", "b": "str"}


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ("-- name: count()$", "count returns a value: add a line -- returns: TYPE"),
        ("-- name: count()$\n-- returns: Any", "count has the type Any: expected one of"),
        (
            "-- name: list_runs limit",
            "expected -- name: NAME(PARAMETERS)MARK, got '-- name: list_runs limit'",
        ),
    ],
)
def test_a_header_that_says_too_little_is_refused(header: str, fault: str) -> None:
    """The message says what to add."""
    with pytest.raises(MADE.HeaderError, match=re.escape(fault)):
        list(MADE.statements(f"{header}\nSELECT 1;"))


@pytest.mark.parametrize(
    "directory",
    sorted({file.parent for file in PACKAGE.rglob("*.sql")}),
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_statements_are_those_that_aiosql_reads(directory: Path) -> None:
    """The loader leaves out a search for comments of several lines, which no file has."""
    text = Template("\n\n".join(file.read_text("utf-8") for file in sorted(directory.glob("*.sql"))))
    sql = re.sub(r"(-- name: \w+)\(.*\)", r"\1", text.safe_substitute())  # a gap may hold the parameters
    adapter: Any = AsyncPGAdapter()
    ours, theirs = (
        [
            each._replace(floc=("", 1))
            for each in loader(adapter, None, mandatory_parameters=False).load_query_data_from_sql(sql, [])
        ]
        for loader in (StatementLoader, QueryLoader)
    )
    assert ours == theirs
    assert "/*" not in sql
