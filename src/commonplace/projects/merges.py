"""Merges of projects: which of them hold, and which memories of a home move because of them. Pure.

Devices merge without asking each other, so merges may form a circle: one device merges a project into a second one, and
another device the second one into the first. Every device then comes to the same answer, because it depends on the
merges alone. Source: PRJ-01, SYN-12.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Merge(NamedTuple):
    """A merge: the ids of the project whose memory moves, and of the project that gets it."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectMoves:
    """What a home does with its memories so that they are where the merges say.

    Attributes:
        backward: The merges that no longer hold and whose memories move back, in this order.
        forward: The merges that hold, in the order in which their memories move.
        result: The merges whose memories have moved in the end, as target by source.
    """

    backward: tuple[Merge, ...]
    forward: tuple[Merge, ...]
    result: Mapping[str, str]


def merges_in_force(merges: Mapping[str, str]) -> dict[str, str]:
    """Return the merges that hold, as target by source: in a circle, the project with the first id stays by itself."""
    overruled: set[str] = set()
    for start in merges:
        path, project = list[str](), start
        while project in merges and project not in path:
            path.append(project)
            project = merges[project]
        if project in path:
            overruled.add(min(path[path.index(project) :]))
    return {source: target for source, target in merges.items() if source not in overruled}


def standing_for(project_id: str, in_force: Mapping[str, str]) -> str:
    """Return the id of the project whose memory a project uses: its own, unless it was merged into another one."""
    while project_id in in_force:
        project_id = in_force[project_id]
    return project_id


def project_moves(
    in_force: Mapping[str, str], before: Mapping[str, str], projects: Collection[str]
) -> ProjectMoves | None:
    """Return how the memories of a home follow the merges; ``None`` if there are none to follow.

    Args:
        in_force: The merges that hold.
        before: The merges whose memories this home has moved.
        projects: The ids of all projects. Of a project that was forgotten, nobody knows whether its merge still holds,
            so its memories stay where they are.
    """
    over = {
        source: target
        for source, target in before.items()
        if source in projects and in_force.get(source) != target
    }
    if not over and not in_force:
        return None
    of_forgotten = {source: target for source, target in before.items() if source not in projects}
    return ProjectMoves(
        # Of a chain, memories move back in the opposite order.
        backward=tuple(reversed(_in_order(over, before))),
        forward=tuple(_in_order(in_force, in_force)),
        result={**of_forgotten, **in_force},
    )


def _in_order(merges: Mapping[str, str], chains: Mapping[str, str]) -> list[Merge]:
    """Return merges so that the memories of a chain of them arrive at its end: those furthest from the end first."""
    chains = merges_in_force(chains)

    def distance(project_id: str) -> int:
        steps = 0
        while project_id in chains:
            project_id, steps = chains[project_id], steps + 1
        return steps

    return sorted(
        (Merge(*each) for each in merges.items()), key=lambda each: (-distance(each.source), each.source)
    )
