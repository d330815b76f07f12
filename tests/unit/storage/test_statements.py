"""Calls of named statements: each names a statement of its memory and gives the parameters that it declares."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import commonplace

PACKAGE = Path(commonplace.__file__).parent
OWNERS = ("access", "apps", "knowledge", "operational", "storage")
"""The packages that have statements, each with names of its own."""

RECEIVERS = frozenset({"sql", "_sql", "reads", "statements", "_steps"})
"""What statements bound to a connection are called; see :class:`~commonplace.storage.database.Statements`."""

NO_STATEMENTS = frozenset({"begun", "connection"})
"""What else bound statements have."""

BINDERS = frozenset({"of_kind", "of_table", "Statements"})
"""What binds statements to a connection in the middle of an expression."""

_HEADER = re.compile(r"^-- name: (\w+?)(?:\(([^)]*)\))?(?:[\^$!#]|<!|\*!|\$\$)*$", re.MULTILINE)
_NAME = re.compile(r"^-- name: \w+", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of a statement: its name, its parameters, and whether a mapping adds parameters that no one can see."""

    place: str
    name: str
    parameters: frozenset[str]
    has_mapping: bool


@dataclass(kw_only=True)
class _Calls(ast.NodeVisitor):
    """Collects the calls of statements in one file, by their own names or by a local name for them."""

    path: str
    calls: list[Call] = field(default_factory=list[Call])
    mentions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _aliases: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def visit_Assign(self, node: ast.Assign) -> None:
        names = [
            part.attr
            for part in ast.walk(node.value)
            if isinstance(part, ast.Attribute) and _is_statement(part) and not _is_called(node.value, part)
        ]
        for target in node.targets:
            if isinstance(target, ast.Name) and names:
                self._aliases[target.id] = names
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if _is_statement(node):
            self.mentions.append((f"{self.path}:{node.lineno}", node.attr))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        names: list[str] = []
        if isinstance(node.func, ast.Attribute) and _is_statement(node.func):
            names = [node.func.attr]
        elif isinstance(node.func, ast.Name):
            names = self._aliases.get(node.func.id, [])
        self.calls += [
            Call(
                place=f"{self.path}:{node.lineno}",
                name=name,
                parameters=frozenset(keyword.arg for keyword in node.keywords if keyword.arg is not None),
                has_mapping=any(keyword.arg is None for keyword in node.keywords),
            )
            for name in names
        ]
        self.generic_visit(node)


def _is_statement(node: ast.AST) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr in NO_STATEMENTS:
        return False
    match node.value:
        case ast.Name(id=receiver) | ast.Attribute(attr=receiver):
            return receiver in RECEIVERS
        case ast.Call(func=ast.Name(id=function)):
            return function in BINDERS
        case _:
            return False


def _is_called(tree: ast.AST, node: ast.AST) -> bool:
    return any(isinstance(part, ast.Call) and part.func is node for part in ast.walk(tree))


def _faults(source: str, path: str, declared: dict[str, frozenset[str]]) -> Iterator[str]:
    found = _Calls(path=path)
    found.visit(ast.parse(source))
    for place, name in found.mentions:
        if name not in declared:
            yield f"{place}: no statement is named {name!r}"
    for call in found.calls:
        wanted = declared.get(call.name, call.parameters)
        for unknown in sorted(call.parameters - wanted):
            yield f"{call.place}: {call.name} has no parameter {unknown!r}"
        if not call.has_mapping:
            for missing in sorted(wanted - call.parameters):
                yield f"{call.place}: {call.name} lacks the parameter {missing!r}"


@cache
def _declared(owner: str) -> dict[str, frozenset[str]]:
    """Return the parameters of each statement of a package by its name."""
    declared: dict[str, frozenset[str]] = {}
    for path in (PACKAGE / owner).rglob("*.sql"):
        text = path.read_text(encoding="utf-8")
        headers = list(_HEADER.finditer(text))
        assert len(headers) == len(_NAME.findall(text)), f"{path} has a header that cannot be read"
        for header in headers:
            assert header[1] not in declared, f"{path}: two statements of {owner} are named {header[1]!r}"
            declared[header[1]] = frozenset(re.findall(r"\w+", header[2] or ""))
    return declared


@pytest.mark.parametrize("owner", OWNERS)
def test_each_call_names_a_statement_and_its_parameters(owner: str) -> None:
    """A misspelt statement or parameter fails here, without a database."""
    faults = [
        fault
        for path in sorted((PACKAGE / owner).rglob("*.py"))
        for fault in _faults(
            path.read_text(encoding="utf-8"), str(path.relative_to(PACKAGE)), _declared(owner)
        )
    ]
    assert faults == []


@pytest.mark.parametrize("owner", OWNERS)
def test_each_statement_is_used(owner: str) -> None:
    """No statement is left over; names that are put together at run time count where a string begins them."""
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (PACKAGE / owner).rglob("*.py"))
    words = set(re.findall(r"\w+", sources))
    prefixes = tuple(re.findall(r'f"(\w+_)\{', sources))
    unused = [name for name in _declared(owner) if name not in words and not name.startswith(prefixes)]
    assert unused == []


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        ("sql.get_run(run_id=1)", None),
        ("sql.get_runs(run_id=1)", "no statement is named 'get_runs'"),
        ("sql.get_run(run=1)", "get_run has no parameter 'run'"),
        ("sql.get_run()", "get_run lacks the parameter 'run_id'"),
        ("sql.get_run(**given)", None),
        ("sql.get_run(**given, run=1)", "get_run has no parameter 'run'"),
        ("of_table(table, sql).get_run(run=1)", "get_run has no parameter 'run'"),
        ("self._sql.get_run(run=1)", "get_run has no parameter 'run'"),
        ("sql.connection.transaction(isolation=1)", None),
    ],
)
def test_a_misspelt_call_is_found(call: str, fault: str | None) -> None:
    """The check sees misspelt names and parameters, and lets mappings and the connection be."""
    faults = list(_faults(call, "example.py", {"get_run": frozenset({"run_id"})}))
    assert [fault is not None and fault in each for each in faults[:1]] == ([] if fault is None else [True])


def test_a_call_by_a_local_name_is_checked_for_each_statement_behind_it() -> None:
    """A choice between two statements has to suit both."""
    source = "read = sql.get_fact if is_fact else sql.get_rule\nread(id=1, now=2)"
    declared = {"get_fact": frozenset({"id", "now"}), "get_rule": frozenset({"id"})}
    assert list(_faults(source, "example.py", declared)) == ["example.py:2: get_rule has no parameter 'now'"]
