"""Draw the structure of the package, rooms and imports, into CONTRIBUTING.md.

    python scripts/structure.py            write the pictures
    python scripts/structure.py --check    exit with 1 if they are out of date or show a knot

A box is a package, an arrow an import. The first picture shows the floors, the others show the rooms of each package
that has some: ``memory`` is the facade of a memory, and the box named like the package holds the other modules at its
root. An arrow that a path over other boxes replaces is left out. A knot is a circle of arrows: its rooms cannot be read
one after the other, so a picture with a knot is refused.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Final

import grimp

CONTRIBUTING: Final = Path(__file__).parents[1] / "CONTRIBUTING.md"
BEGIN: Final = "<!-- structure: made by `make structure` -->"
END: Final = "<!-- end of structure -->"
PACKAGE: Final = "commonplace"
DRAWN: Final = (
    *("operational", "apps", "workspace", "knowledge"),
    *("services", "hosts", "mcp", "web", "cli", "llm", "storage"),
)
"""The packages whose rooms have a picture: the four memories, then those above and below them."""

Arrows = set[tuple[str, str]]


def main() -> int:
    """Write the pictures, or tell with ``--check`` whether they are up to date; refuse knots."""
    drawings = dict(arrows_by_title())
    for title, arrows in drawings.items():
        if rooms := knot(arrows):
            print(
                f"{title} A knot: {', '.join(rooms)} import each other in a circle. Move what they share below them."
            )
            return 1
    text = CONTRIBUTING.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    drawn = "\n".join([f"{before}{BEGIN}\n", *pictures(drawings), f"{END}{after}"])
    if "--check" not in sys.argv[1:]:
        CONTRIBUTING.write_text(drawn, encoding="utf-8")
        return 0
    if drawn != text:
        print("The pictures in CONTRIBUTING.md are out of date. Run: make structure")
        return 1
    return 0


def arrows_by_title() -> Iterator[tuple[str, Arrows]]:
    """Yield the title and the arrows of each picture that has some."""
    graph = grimp.build_graph(PACKAGE)
    imports = {
        (module.removeprefix(f"{PACKAGE}."), imported.removeprefix(f"{PACKAGE}."))
        for module in graph.modules
        for imported in graph.find_modules_directly_imported_by(module)
        if not {module, imported} & {PACKAGE, f"{PACKAGE}.__main__"}
    }
    yield "Floors:", apart((module.split(".")[0], imported.split(".")[0]) for module, imported in imports)
    packages = {module.removeprefix(f"{PACKAGE}.") for module in graph.modules if graph.find_children(module)}
    for package in DRAWN:
        inside = apart(
            (room_of(module, packages), room_of(imported, packages))
            for module, imported in imports
            if module.startswith(f"{package}.") and imported.startswith(f"{package}.")
        )
        if inside:
            yield f"Rooms of `{package}`:", inside


def pictures(drawings: Mapping[str, Arrows]) -> Iterator[str]:
    """Yield the lines of all pictures in Markdown; their arrows form no circle."""
    for title, arrows in drawings.items():
        yield f"{title}\n"
        yield from mermaid(without_shortcuts(arrows))


def knot(arrows: Arrows) -> list[str]:
    """Return the boxes that reach themselves, in alphabetical order; none if the arrows form no circle."""
    reached = closure(arrows)
    return sorted(one for one, other in reached if one == other)


def room_of(module: str, packages: set[str]) -> str:
    """Return the box of a module: its room, ``memory`` for a facade, or the package for other modules at its root."""
    package, name, *_ = module.split(".")
    return name if name == "memory" or f"{package}.{name}" in packages else package


def apart(arrows: Iterable[tuple[str, str]]) -> Arrows:
    """Return the arrows between different boxes."""
    return {(one, other) for one, other in arrows if one != other}


def closure(arrows: Arrows) -> Arrows:
    """Return an arrow for each path."""
    reached = set(arrows)
    boxes = {box for arrow in arrows for box in arrow}
    for middle, one, other in product(boxes, repeat=3):
        if (one, middle) in reached and (middle, other) in reached:
            reached.add((one, other))
    return reached


def without_shortcuts(arrows: Arrows) -> Arrows:
    """Return the arrows that no path over other boxes replaces; the arrows must form no circle."""
    reached = closure(arrows)
    boxes = {box for arrow in arrows for box in arrow}
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
