"""Draw the structure of the package, rooms and imports, into CONTRIBUTING.md.

    python scripts/structure.py            write the pictures
    python scripts/structure.py --check    exit with 1 if they are out of date

A box is a package, an arrow an import. The first picture shows the floors, without arrows that a path over other boxes
replaces. The others show the rooms of each memory: ``memory`` is the facade, and the box named like the memory holds
the other modules at its root.
"""

import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Final

import grimp

CONTRIBUTING: Final = Path(__file__).parents[1] / "CONTRIBUTING.md"
BEGIN: Final = "<!-- structure: made by `make structure` -->"
END: Final = "<!-- end of structure -->"
PACKAGE: Final = "commonplace"
MEMORIES: Final = ("operational", "apps", "workspace", "knowledge")

Arrows = set[tuple[str, str]]


def main() -> int:
    """Write the pictures, or tell with ``--check`` whether they are up to date."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = "\n".join([f"{before}{BEGIN}\n", *pictures(), f"{END}{after}"])
    if "--check" not in sys.argv[1:]:
        CONTRIBUTING.write_text(drawn, encoding="utf-8")
        return 0
    if drawn != text:
        print("The pictures in CONTRIBUTING.md are out of date. Run: make structure")
        return 1
    return 0


def pictures() -> Iterator[str]:
    """Yield the lines of all pictures in Markdown."""
    graph = grimp.build_graph(PACKAGE)
    imports = {
        (module.removeprefix(f"{PACKAGE}."), imported.removeprefix(f"{PACKAGE}."))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if not {module, imported} & {PACKAGE, f"{PACKAGE}.__main__"}
    }
    floors = {(module.split(".")[0], imported.split(".")[0]) for module, imported in imports}
    yield from mermaid(without_shortcuts(apart(floors)))
    packages = {module.removeprefix(f"{PACKAGE}.") for module in graph.modules if graph.find_children(module)}
    for memory in MEMORIES:
        inside = {
            (room_of(module, packages), room_of(imported, packages))
            for module, imported in imports
            if module.startswith(f"{memory}.") and imported.startswith(f"{memory}.")
        }
        if apart(inside):
            yield f"Rooms of `{memory}`:\n"
            yield from mermaid(apart(inside))


def room_of(module: str, packages: set[str]) -> str:
    """Return the box of a module: its room, ``memory`` for the facade, or the memory for other modules at its root."""
    memory, name, *_ = module.split(".")
    return name if name == "memory" or f"{memory}.{name}" in packages else memory


def apart(arrows: Iterable[tuple[str, str]]) -> Arrows:
    """Return the arrows between different boxes."""
    return {(one, other) for one, other in arrows if one != other}


def without_shortcuts(arrows: Arrows) -> Arrows:
    """Return the arrows that no path over other boxes replaces; the arrows must form no cycle."""
    reached = set(arrows)
    boxes = {box for arrow in arrows for box in arrow}
    for middle, one, other in product(boxes, repeat=3):
        if (one, middle) in reached and (middle, other) in reached:
            reached.add((one, other))
    return {
        (one, other)
        for one, other in arrows
        if not any((one, middle) in reached and (middle, other) in reached for middle in boxes)
    }


def mermaid(arrows: Arrows) -> Iterator[str]:
    """Yield the lines of a Mermaid flow chart."""
    yield "```mermaid\nflowchart TD"
    for one, other in sorted(arrows):
        yield f"  {one} --> {other}"
    yield "```\n"


if __name__ == "__main__":
    sys.exit(main())
