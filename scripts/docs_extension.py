"""Extension of Griffe, which reads the code for the Python reference.

Griffe does not see the names in the packages' stubs, and Markdown has no roles such as ``:meth:`recall```.
"""

import re
from typing import TYPE_CHECKING, cast

from griffe import Extension, Module, Object

from commonplace.core.public_names import public_names

if TYPE_CHECKING:
    from pathlib import Path

ROLE = re.compile(r":[a-z]+:`~?\.?([\w.]+)`")
LITERAL = re.compile(r"``([^`]+)``")


class Reference(Extension):
    """Changes what Griffe has read."""

    def on_instance(self, *, obj: Object, **_: object) -> None:
        """Turn the roles in a docstring into code."""
        if obj.docstring:
            obj.docstring.value = ROLE.sub(r"`\1`", LITERAL.sub(r"`\1`", obj.docstring.value))

    def on_package(self, *, pkg: Module, **_: object) -> None:
        """Export the names in the stubs: the class of a memory first, constants last."""
        memories = _stubbed(pkg)
        for module in pkg.modules.values():
            if names := _stubbed(module):
                names.sort(key=lambda name: (name not in memories, name.isupper(), name.lower()))
                module.exports = [*names]


def _stubbed(module: Module) -> list[str]:
    folder = cast("Path", module.filepath).parent
    is_stubbed = module.is_init_module and (folder / "__init__.pyi").exists()
    return public_names(module.path, str(folder))[0] if is_stubbed else []
