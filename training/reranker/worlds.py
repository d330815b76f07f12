"""Worlds: what an assistant remembers of a life, team or shop, prompts, and the memories that help with each.

``worlds/NAME.txt`` is one author's world, one record a line, with `` | `` between the columns:

- ``W | about``
- ``F | id | importance | scope | age in days | subject | predicate | content``: a fact
- ``R | id | scope | age in days | content``: a rule
- ``P | id | scope | wanted | acceptable | text``: a prompt, with ids of memories by commas, the most important first,
  or ``-``
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

WORLDS: Final = Path(__file__).parent / "worlds"

SET_ASIDE: Final = frozenset(
    {
        "de-grossfamilie",
        "en-elder-care",
        "en-indie-saas",
        "en-law-clinic",
        "en-maker-space",
        "en-mobile-team",
        "en-observatory",
        "en-orchestra-tour",
        "en-pharmacy",
        "en-vineyard",
    }
)
"""The worlds from which nothing is learned or chosen; their prompts give the published figures."""

KEPT: Final = frozenset(
    {
        "de-softwarehaus",
        "en-homelab-ops",
        "en-midwife-family",
        "en-vet-clinic",
        "en-wedding-planner",
        "fr-association-sport",
    }
)
"""The worlds from which nothing is learned, on which constants were chosen and tests check the network."""

World = Mapping[str, Any]


def learned_worlds() -> list[str]:
    """Return the worlds from which the network learns, in the order of their names."""
    return sorted({path.stem for path in WORLDS.glob("*.txt")} - SET_ASIDE - KEPT)


def read_worlds(names: Iterable[str]) -> list[World]:
    """Return some worlds, by name, in the form of ``benchmarks/recall.py``.

    Raises:
        FileNotFoundError: A world has no file.
        ValueError: A line has another form.
    """
    return [read_world(WORLDS / f"{name}.txt") for name in sorted(names)]


def read_world(path: Path) -> World:
    """Return the world in a file.

    Raises:
        ValueError: A line has another form; the message names it.
    """
    memories: list[World] = []
    prompts: list[World] = []
    about = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match line.strip().split(" | "):
            case [""]:
                continue
            case ["W", about]:
                pass
            case ["F", id_, importance, scope, age, subject, predicate, content]:
                memory = _memory(id_, "fact", scope, age, content)
                fact = {"subject": subject, "predicate": predicate, "importance": float(importance)}
                memories.append(memory | fact | {"permanence": "standard"})
            case ["R", id_, scope, age, content]:
                memories.append(_memory(id_, "rule", scope, age, content))
            case ["P", id_, scope, wanted, acceptable, text]:
                named = {"wanted": _ids(wanted), "acceptable": _ids(acceptable)}
                prompts.append({"id": id_, "kind": "task", "butler": scope, "text": text} | named)
            case columns:
                form = f"{columns[0]!r} with {len(columns)} columns"
                raise ValueError(f"{path}:{number}: expected a world, fact, rule or prompt, got {form}")
    return {"id": path.stem, "about": about, "memories": memories, "prompts": prompts}


def _memory(id_: str, type_: str, scope: str, age: str, content: str) -> dict[str, Any]:
    return {"id": id_, "type": type_, "scope": scope, "age_days": float(age), "content": content}


def _ids(text: str) -> list[str]:
    return [] if text == "-" else [each.strip() for each in text.split(",")]
