"""What holds for all four memories and for every door: nouns, true signatures, public names, closed sets."""

import ast
import inspect
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel

from commonplace import AppMemory, KnowledgeMemory, OperationalMemory, WorkspaceMemory
from commonplace.knowledge import storage_functions
from commonplace.mcp.knowledge.server import TOOLS
from commonplace.mcp.protocol.tool import arguments_of
from commonplace.web.rest.knowledge import shapes
from support.facades import methods_of, parts_of

SOURCE = Path(__file__).parents[2] / "src" / "commonplace"
DOORS = ("adapters", "butlers", "cli", "hosts", "mcp", "web")
MEMORIES = ("apps", "knowledge", "operational", "workspace")
FACADES: tuple[type, ...] = (AppMemory, KnowledgeMemory, OperationalMemory, WorkspaceMemory)
CLOSED = {"memory_type", "mode", "permanence", "entity_type", "types"}
BOUNDED = {"importance", "limit", "min_confidence", "token_budget", "max_entries"}


METHODS = {
    f"{facade.__name__}.{name}": method for facade in FACADES for name, method in methods_of(facade).items()
}
SPECIFIED = {
    "create_link", "get_links", "get_memory", "confirm_memory", "forget_memory", "mark_helpful", "mark_harmful",
    "invert_to_anti_pattern", "store_episode", "store_episodes", "import_episodes", "store_fact", "store_facts",
    "store_rule", "store_rules", "semantic_search", "keyword_search", "hybrid_search", "memory_search", "recall",
    "memory_context", "memory_stats", "run_decay_sweep", "run_episode_cleanup", "run_consolidation", "undo_run",
}  # fmt: skip
"""The storage functions of knowledge memory that the specification names, and their siblings."""


def parts(annotation: object) -> Iterator[object]:
    """Yield a type and the types that it is made of."""
    yield annotation
    for argument in get_args(annotation):
        yield from parts(argument)


@pytest.mark.requirement("HSE-01.1")
@pytest.mark.parametrize("name", METHODS)
def test_no_method_returns_a_bare_dictionary(name: str) -> None:
    """Neither alone nor in a list."""
    result = get_type_hints(METHODS[name])["return"]
    assert [part for part in parts(result) if part is dict or get_origin(part) is dict] == []


@pytest.mark.requirement("HSE-02.1")
@pytest.mark.parametrize("name", METHODS)
def test_a_signature_is_that_of_the_code(name: str) -> None:
    """The code has the parameters and defaults that ``help()`` shows; only contextlib may wrap a method."""
    method = METHODS[name]
    parameters = inspect.signature(method).parameters
    assert not {"pool", "clock", "args", "kwargs"} & parameters.keys()
    inner: Any = getattr(method, "__wrapped__", method)
    if inner is not method:
        assert method.__code__.co_filename == contextlib_file()
    code = inner.__code__
    assert (*parameters,) == code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    shown = {
        each.name: each.default
        for each in parameters.values()
        if each.kind is each.KEYWORD_ONLY and each.default is not each.empty
    }
    assert shown == (inner.__kwdefaults__ or {})


@pytest.mark.requirement("FLR-02.1")
@pytest.mark.parametrize("facade", FACADES, ids=lambda facade: facade.__name__)
def test_a_facade_and_its_parts_inherit_nothing(facade: type) -> None:
    """A reader finds each method in the class where it is called."""
    assert {owner.__name__: owner.__bases__ for owner in (facade, *parts_of(facade).values())} == {
        owner.__name__: (object,) for owner in (facade, *parts_of(facade).values())
    }


@pytest.mark.requirement("FLR-02.1")
@pytest.mark.parametrize("facade", FACADES, ids=lambda facade: facade.__name__)
def test_a_part_does_not_repeat_its_noun(facade: type) -> None:
    """``memory.entities.merge``, not ``memory.entities.merge_entity``."""
    for name in methods_of(facade):
        *parts, method = name.split(".")
        nouns = {part.rstrip("s") for part in parts}
        assert nouns & {word.rstrip("s") for word in method.split("_")} == set(), name


@pytest.mark.requirement("FLR-02.2")
def test_the_specified_storage_functions_are_in_one_module() -> None:
    """Each is written out: its code has the parameters that ``help()`` shows, the pool first."""
    functions = {
        name: function
        for name, function in inspect.getmembers(storage_functions, inspect.isfunction)
        if function.__module__ == storage_functions.__name__ and not name.startswith("_")
    }
    assert functions.keys() == SPECIFIED
    for function in functions.values():
        parameters = inspect.signature(function).parameters
        code = function.__code__
        assert (*parameters,) == code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        assert next(iter(parameters)) == "pool"
        assert "clock" in parameters
    others = [
        (path.relative_to(SOURCE).as_posix(), node.name)
        for path in sorted((SOURCE / "knowledge").rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.AsyncFunctionDef) and node.name in SPECIFIED
    ]
    assert {path for path, _ in others} == {"knowledge/storage_functions.py"}


def contextlib_file() -> str:
    """Return the file of the standard library's context managers."""
    return inspect.getsourcefile(import_module("contextlib")) or ""


def public(memory: str) -> bool:
    """Tell whether a memory lists its public names."""
    return hasattr(import_module(f"commonplace.{memory}"), "__all__")


@pytest.mark.requirement("HSE-03.1")
@pytest.mark.parametrize("memory", [memory for memory in MEMORIES if public(memory)])
def test_every_public_name_loads(memory: str) -> None:
    """Each is there, and the list is in order."""
    package = import_module(f"commonplace.{memory}")
    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError):
        _ = package.no_such_name


@cache
def imports_of_doors() -> list[tuple[str, str]]:
    """Return the files of all doors with the modules from which they import names."""
    return [
        (path.relative_to(SOURCE).as_posix(), node.module or "")
        for door in DOORS
        for path in sorted((SOURCE / door).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]


@pytest.mark.requirement("HSE-03.1")
@pytest.mark.parametrize("memory", [memory for memory in MEMORIES if public(memory)])
def test_doors_import_public_names_alone(memory: str) -> None:
    """No door looks into a room of a memory, and import-linter keeps it so."""
    inside = f"commonplace.{memory}."
    assert [each for each in imports_of_doors() if each[1].startswith(inside)] == []
    settings = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    assert any(f"{inside}*" in contract.get("forbidden_modules", ()) for contract in contracts)


@pytest.mark.requirement("HSE-04.1")
@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.run.__name__)
def test_tools_show_closed_sets_and_bounds(spec: Any) -> None:  # noqa: ANN401 - a tool
    """A model reads in the schema which words and which numbers are taken."""
    check(arguments_of(spec.run, {}).model_json_schema())


@pytest.mark.requirement("HSE-04.1")
@pytest.mark.parametrize(
    "body",
    [
        each
        for each in vars(shapes).values()
        if isinstance(each, type) and issubclass(each, BaseModel) and each.__module__ == shapes.__name__
    ],
)
def test_bodies_show_closed_sets_and_bounds(body: type[BaseModel]) -> None:
    """A client reads in the schema which words and which numbers are taken, or come."""
    check(body.model_json_schema(by_alias=False))


def check(schema: dict[str, Any]) -> None:
    """Hold the parameters of a schema whose names say that they are closed or bounded to that."""
    definitions = schema.get("$defs", {})
    for name, shown in schema["properties"].items():
        text = str(shown) + "".join(
            str(each) for key, each in definitions.items() if f"#/$defs/{key}'" in str(shown)
        )
        if name in CLOSED | {"maturity", "validity", "consolidation_status", "name_match"}:
            assert "'enum': [" in text, name
        if name in BOUNDED and "title" in schema and "number" in text and not is_answer(schema):
            assert "'minimum': " in text, name


def is_answer(schema: dict[str, Any]) -> bool:
    """Tell whether a schema is of what comes back."""
    return schema["title"].endswith("Shape")
