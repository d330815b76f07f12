"""Measure which memories the rule gives up when an app has eleven.

``python benchmarks/compaction.py [--data FILE] [--json] [--errors]`` plays cases of ten memories and an eleventh, each
with what must stay and what may go, on 15 June 2026. The baseline is first in, first out. A memory counts as kept if
its row is unchanged, or if one remaining memory holds all its ``must_words`` (70 % of its words where a case names
none), so that merging is no loss. Rules were made with a look at the cases of ``benchmarks/data/compactions.jsonl``;
those of ``compactions_measured_once.jsonl`` were measured once, unseen, before the judge took the place of most rules
(ADR 0009).
"""

import argparse
import asyncio
import json
import logging
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from commonplace import AppMemory, Settings
from commonplace.apps.model.conversations import Message
from commonplace.apps.model.energy import EnergyPolicy
from commonplace.core.clock import ManualClock
from commonplace.judge.network import open_network

DATA = Path(__file__).parent / "data" / "compactions.jsonl"
TODAY = datetime(2026, 6, 15, 12, tzinfo=UTC)
LEAST_WORDS = 0.7

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A case, and which of its memories went, were lost, or were merged."""

    row: Row
    went: list[str]
    lost: list[str]
    merged: list[str]

    @property
    def in_may_go(self) -> bool:
        """Whether something went, and nothing that should not."""
        return bool(self.went) and all(name in (*self.row["may_go"], *self.merged) for name in self.went)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Shares from 0 to 1, over all cases."""

    method: str
    cases: int
    must_stay_kept: float
    cases_all_must_stay_kept: float
    went_in_may_go: float


def texts_of(row: Row) -> dict[str, str]:
    """Return the texts of a case by their names."""
    return {one["id"]: one["text"] for one in row["memories"]} | {"new": row["new"]}


def judged(row: Row, left: dict[str, str]) -> Played:
    """Judge a case by the memories that are left."""
    texts = texts_of(row)
    went = [name for name in texts if name not in left]
    return Played(
        row=row,
        went=went,
        lost=[name for name in row["must_stay"] if not _is_kept(name, row, left)],
        merged=[name for name in went if _is_kept(name, row, left)],
    )


def _is_kept(name: str, row: Row, left: dict[str, str]) -> bool:
    texts = texts_of(row)
    if left.get(name) == texts[name]:
        return True
    if words := [word.lower() for word in row["must_words"].get(name, ())]:
        return any(all(word in text.lower() for word in words) for text in left.values())
    mine = set(re.findall(r"\w+", texts[name].lower()))
    changed = [text for other, text in left.items() if text != texts[other]]
    return any(
        len(mine & set(re.findall(r"\w+", text.lower()))) >= LEAST_WORDS * len(mine) for text in changed
    )


async def play(rows: list[Row]) -> list[Played]:
    """Play each case in a fresh home, with the importance that the product gives to each memory alone."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), model="extractive")
        energy = EnergyPolicy(capacity=1e9)
        async with AppMemory.open(settings, clock=ManualClock(TODAY), energy=energy) as memory:
            return [judged(row, await _left(memory, row)) for row in rows]


async def _left(memory: AppMemory, row: Row) -> dict[str, str]:
    app = row["id"]
    await memory.registry.register(app)
    document: Row = {"format": "commonplace-app-memories", "version": 1, "memories": []}
    for one in row["memories"]:
        moment = (TODAY - timedelta(days=one["age_days"])).isoformat()
        alone = f"{app}-{one['id']}-alone"
        await memory.registry.register(alone)
        receipt = await memory.ingest(alone, alone, [Message(role="user", content=one["text"])])
        document["memories"].append(
            {
                "content": one["text"],
                "createdAt": moment,
                "updatedAt": moment,
                "sourceConversationId": f"{app}-{one['id']}",
                "metadata": receipt.memory.metadata.as_dict() if receipt.memory else {"importance": 0.0},
            }
        )
    await memory.import_document(app, document)
    await memory.ingest(app, f"{app}-new", [Message(role="user", content=row["new"])])
    return {
        one.source_conversation_id.removeprefix(f"{app}-"): one.content
        for one in await memory.list_memories(app)
        if one.source_conversation_id
    }


def first_in_first_out(rows: list[Row]) -> list[Played]:
    """Play each case by the baseline: the oldest goes."""
    played: list[Played] = []
    for row in rows:
        oldest = max(row["memories"], key=lambda one: one["age_days"])
        played.append(
            judged(row, {name: text for name, text in texts_of(row).items() if name != oldest["id"]})
        )
    return played


def figures(method: str, played: list[Played]) -> Figures:
    """Count what a method lost and gave up."""
    stay = sum(len(one.row["must_stay"]) for one in played)
    return Figures(
        method=method,
        cases=len(played),
        must_stay_kept=round(1 - sum(len(one.lost) for one in played) / stay, 4),
        cases_all_must_stay_kept=round(sum(not one.lost for one in played) / len(played), 4),
        went_in_may_go=round(sum(one.in_may_go for one in played) / len(played), 4),
    )


def main() -> None:
    """Measure, and print a table, or with ``--json`` the figures of the product."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--errors", action="store_true", help="print each case with a fault")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rows = [json.loads(line) for line in args.data.read_text(encoding="utf-8").splitlines() if line.strip()]
    open_network()  # Without its weights nothing is outdated, and the figures would mean nothing.
    played = asyncio.run(play(rows))
    found = [figures("rule", played), figures("first in, first out", first_in_first_out(rows))]
    if args.json:
        print(json.dumps(asdict(found[0]), indent=2))
    else:
        print(f"{'':26}" + "".join(f"{one.method:>22}" for one in found))
        for name in list(asdict(found[0]))[1:]:
            print(f"{name:26}" + "".join(f"{getattr(one, name):>22}" for one in found))
    if args.errors:
        for one in played:
            if one.lost or not one.in_may_go:
                print(f"{one.row['id']}: went {one.went}, lost {one.lost}", file=sys.stderr)


if __name__ == "__main__":
    main()
