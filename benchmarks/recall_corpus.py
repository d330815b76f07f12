"""Other memories for the worlds of ``recall.py``: more for a search to tell apart, and none that a prompt asks for.

They are the facts and rules of the other worlds, and then sentences of conversations as facts about other people. All
are of global scope, so that every prompt meets them.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]

PEOPLE = (
    "Adaeze|Bertil|Cosima|Dilshad|Eilidh|Fabrice|Gudrun|Hamza|Ilse|Jacinta|Kaito|Lorcan|Mireille|Nuno|Oksana|Pelle|"
    "Quirin|Rosalind|Sanjiv|Thandi|Ulrike|Viggo|Wilhelmina|Xiomara|Yannick|Zeynep|Anselm|Birgitta|Casimir|Dorothea"
)
STATEMENT_WORDS = range(6, 31)


def filled(worlds: Sequence[Record], conversations: Sequence[Path], many: int) -> list[Record]:
    """Return the worlds with other memories, as many in all for each; the others of a small world are in a large one.

    Args:
        worlds: The worlds of ``recall.py``.
        conversations: Files in the format of ``retrieval.py`` or ``locomo.py``.
        many: Memories of each world. A world with more keeps its own.
    """
    statements = _statements(conversations)
    return [
        {**world, "memories": [*world["memories"], *_others(world, worlds, statements, many)]}
        for world in worlds
    ]


def _others(world: Record, worlds: Sequence[Record], statements: Sequence[Record], many: int) -> list[Record]:
    foreign = [
        memory
        for other in worlds
        if other is not world
        for memory in other["memories"]
        if memory["type"] != "episode" and not memory.get("superseded")
    ]
    wanted = max(0, many - len(world["memories"]))
    others = [*foreign, *statements][:wanted]
    if len(others) < wanted:
        raise SystemExit(
            f"{world['id']} gets {len(others)} of {wanted} other memories: name more files with --among"
        )
    return [{**each, "id": f"other-{place}", "scope": "global"} for place, each in enumerate(others)]


def _statements(conversations: Sequence[Path]) -> list[Record]:
    """Return sentences of the users as facts, in a random order that is always the same.

    The subject is a name for each user, the predicate the longest word. Of sentences with one key, the first stays.
    """
    people = PEOPLE.split("|")
    names: dict[tuple[Path, str], str] = {}
    told: dict[tuple[str, str], str] = {}
    for path in conversations:
        for speaker, text in _turns(path):
            for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
                if sentence.endswith(".") and len(sentence.split()) in STATEMENT_WORDS:
                    name = names.setdefault((path, speaker), people[len(names) % len(people)])
                    longest = max(re.findall(r"\w+", sentence), key=len)
                    told.setdefault((name, longest.casefold()), sentence)
    ordered = sorted(told.items(), key=lambda each: hashlib.sha256(each[1].encode()).digest())
    return [
        {
            "type": "fact",
            "subject": subject,
            "predicate": predicate,
            "content": sentence,
            "importance": 5.0,
            "permanence": "stable",
            "age_days": 30 * (place % 12),
        }
        for place, ((subject, predicate), sentence) in enumerate(ordered)
    ]


def _turns(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the speaker and the text of every turn that a person said."""
    raw = path.read_bytes()
    data = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    if isinstance(data, dict):
        for one in data["conversations"]:
            for item in one["items"]:
                if item["speaker"] == "user":
                    yield str(one.get("person", one["id"])), item["text"]
        return
    for one in data:
        for turns in one["conversation"].values():
            for turn in turns if isinstance(turns, list) else ():
                yield turn["speaker"], turn["text"]
