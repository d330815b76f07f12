"""The methods of a memory: those of its facade, and those of the parts that the facade makes."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from types import FunctionType


def parts_of(facade: type) -> dict[str, type]:
    """Return the public parts that a facade makes in ``__init__``, and their parts, by dotted name."""
    code = ast.parse(textwrap.dedent(inspect.getsource(facade.__init__)))
    parts: dict[str, type] = {}
    for node in ast.walk(code):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target = node.targets[0]
            part = vars(sys.modules[facade.__module__]).get(ast.unparse(node.value.func))
            if isinstance(part, type) and isinstance(target, ast.Attribute) and _is_part(target.attr):
                parts[target.attr] = part
                if "__init__" in vars(part):
                    parts |= {f"{target.attr}.{name}": each for name, each in parts_of(part).items()}
    return parts


def methods_of(facade: type) -> dict[str, FunctionType]:
    """Return the public methods of a facade and of its parts, by dotted name."""
    return {
        f"{prefix}{name}": method
        for prefix, owner in [("", facade), *((f"{part}.", each) for part, each in parts_of(facade).items())]
        for name, method in _functions(owner)
    }


def _is_part(name: str) -> bool:
    return not name.startswith("_") and name != "session"


def _functions(owner: type) -> Iterator[tuple[str, FunctionType]]:
    for name, member in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_"):
            yield name, member
