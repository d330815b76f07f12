"""The floors that one can see: layers inside each memory, no circle between rooms, one meaning for a class name."""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "commonplace"
MEMORIES = ("apps", "knowledge", "operational", "workspace")
ROOMS = (*MEMORIES, "services", "hosts", "mcp", "web", "cli", "llm", "storage")

SAME_NAME = {
    "Author": "who wrote a lesson, and who wrote a digest",
    "Change": "one step in the history of a lesson, and of a digest",
    "ChangeKind": "the kinds of those steps",
    "MemoryContext": "the block of lessons, and the block of digests",
    "Statistics": "the figures of knowledge memory, and those of app memory",
}
"""The class names with more than one class: two memories have the same thing, each with its own values."""

WAITS = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
STATEMENT_MAKERS = {"load_queries", "StatementLoader", "StatementSet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module of the package.

    Attributes:
        parts: The path below the package, without suffix.
        imports: The parts of each imported name of this package, those inside functions too.
        classes: The names of its classes.
    """

    parts: tuple[str, ...]
    imports: frozenset[tuple[str, ...]]
    classes: tuple[str, ...]


@cache
def modules() -> list[Module]:
    """Return all modules."""
    return [read_module(path) for path in sorted(SOURCE.rglob("*.py"))]


def read_module(path: Path) -> Module:
    """Return the module in a file."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    imports = (
        (*node.module.split(".")[1:], alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "commonplace"
        for alias in node.names
    )
    return Module(
        parts=path.relative_to(SOURCE).with_suffix("").parts,
        imports=frozenset(imports),
        classes=tuple(node.name for node in nodes if isinstance(node, ast.ClassDef)),
    )


def rooms(package: str) -> Mapping[str, set[str]]:
    """Return the rooms of a package, and the rooms that each imports; a file at the root is a room of its own."""
    names = {path.stem for path in (SOURCE / package).iterdir() if path.name != "__pycache__"} - {"__init__"}
    graph: dict[str, set[str]] = defaultdict(set)
    for module in modules():
        if module.parts[0] != package or module.parts[1] == "__init__":
            continue
        imported = {name[1] for name in module.imports if name[0] == package and len(name) > 1}
        graph[module.parts[1]] |= (imported & names) - {module.parts[1]}
    return graph


def layers(package: str) -> list[set[str]]:
    """Return the layers that the contract of a package names, from the top."""
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        each
        for each in settings["tool"]["importlinter"]["contracts"]
        if each.get("containers") == [f"commonplace.{package}"]
    )
    return [set(layer.split(" | ")) for layer in contract["layers"]]


@pytest.mark.requirement("FLR-01.1")
@pytest.mark.parametrize("package", [*MEMORIES, "web"])
def test_each_floor_imports_downward_alone(package: str) -> None:
    """The contract names every room, and no room imports one beside or above it."""
    graph, floors = rooms(package), layers(package)
    assert set(graph) == set().union(*floors)
    below: set[str] = set()
    for floor in reversed(floors):
        assert {room: graph[room] - below for room in floor} == {room: set() for room in floor}
        below |= floor


@pytest.mark.requirement("FLR-01.1")
@pytest.mark.parametrize("memory", MEMORIES)
def test_each_memory_has_the_same_ground(memory: str) -> None:
    """The model imports nothing of the memory, and rules know no store."""
    graph = rooms(memory)
    assert graph["model"] == set()
    assert graph["rules"] <= {"model"}
    assert {"store", "memory"} <= set(graph)


@pytest.mark.requirement("FLR-01.1")
def test_rules_wait_for_nothing() -> None:
    """Values in, values out: no function of a rule awaits a database, a model or a clock."""
    ground = [path for memory in MEMORIES for path in (SOURCE / memory / "rules").rglob("*.py")]
    waiting = [
        path.relative_to(SOURCE).as_posix()
        for path in ground
        if any(isinstance(node, WAITS) for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert waiting == []


@pytest.mark.requirement("FLR-01.1")
def test_the_texts_of_statements_are_in_stores() -> None:
    """Other rooms call statements, and load none."""
    homes = {
        "/".join(module.parts[:2])
        for module in modules()
        if module.parts[0] in MEMORIES and {name[-1] for name in module.imports} & STATEMENT_MAKERS
    }
    assert homes == {"knowledge/store"}


@pytest.mark.requirement("FLR-01.2")
@pytest.mark.parametrize("package", ROOMS)
def test_no_circle_between_rooms(package: str) -> None:
    """A newcomer can read the rooms of a package one after the other."""
    assert list(TopologicalSorter(rooms(package)).static_order())


@pytest.mark.requirement("FLR-01.3")
def test_a_class_name_means_one_thing() -> None:
    """At most ten names mean two things, each for a reason."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for name in module.classes:
            homes[name].append("/".join(module.parts))
    assert {name for name, places in homes.items() if len(places) > 1} == SAME_NAME.keys()
    assert len(SAME_NAME) <= 10
