"""Recall, search and the context block on worlds of prompts, with no language model.

A world holds about a hundred facts, rules and episodes, and prompts with the memories that a reader wants for each;
some prompts are about nothing stored. Every memory is stored and confirmed as many days ago as the world says.
Measured are recall, every mode of search, and the block; ``fresh``, and ``used`` (every prompt was recalled twice).
Recall is also measured ``in turn``: each prompt after all prompts before it, whose results were counted as used. Recall
and block are measured on facts and rules, search on all types. With ``--many``, each world also holds other memories,
which no prompt asks for; see ``recall_corpus.py``.

    python benchmarks/recall.py --worlds kept|set-aside|asked-once|learned [--occasions] [--reranker off] [--json]
    python benchmarks/recall.py --data FILE.jsonl [--many N --among FILE...] [--query-weights float32|int8] [--json]

The worlds of other authors are in ``training/reranker/worlds``. Constants were chosen on those that are kept; nothing
was learned from those that are set aside, or from those in ``asked-once``, which were measured once. With
``--occasions``, each rule ends with its occasions, by writers who saw the rules and no prompt.
"""

import argparse
import asyncio
import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NoReturn

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "training" / "reranker"))

from commonplace.core.errors import ModelMissingError
from commonplace.embedding import EmbeddingEngine, EmbeddingOptions, Weights
from commonplace.reranker import reranker
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from query_weights import add_query_weights
from recall_corpus import filled
from recall_worlds import Record, StoredWorld, current, line_of, with_occasions
from scratch_server import scratch_server
from worlds import KEPT, SET_ASIDE, learned_worlds, read_worlds
from worlds import WORLDS as FOLDER

ASKED_ONCE = [f"asked-once/{path.stem}" for path in (FOLDER / "asked-once").glob("*.txt")]
WORLDS = {"kept": KEPT, "set-aside": SET_ASIDE, "asked-once": ASKED_ONCE, "learned": learned_worlds()}
MODES = ("semantic", "keyword", "hybrid", "contextual")
RANKS = ("hit@1", "recall@5", "ndcg@10")


def ranked(found: Sequence[str], wanted: Sequence[str]) -> dict[str, float]:
    """Return hit@1, recall@5 and nDCG@10; the first wanted memory gains 2, the last just over 1."""
    gains = {name: 1 + (len(wanted) - at) / len(wanted) for at, name in enumerate(wanted)}
    best = _dcg(sorted(gains.values(), reverse=True)[:10])
    return {
        "hit@1": float(bool(found) and found[0] in gains),
        "recall@5": len(set(found[:5]) & set(wanted)) / min(5, len(wanted)),
        "ndcg@10": _dcg([gains.get(name, 0.0) for name in found[:10]]) / best,
    }


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


class World:
    """The figures of one world in a database."""

    def __init__(self, database: StoredWorld) -> None:
        self._database = database
        self._world = database.world
        self._types = {memory["id"]: memory["type"] for memory in database.world["memories"]}

    async def use(self) -> None:
        """Recall every prompt, and count it."""
        for prompt in self._world["prompts"]:
            await self._database.recall(prompt, count=True)

    async def measure_in_turn(self) -> list[dict[str, float]]:
        """Return the figures of recall for each prompt after all prompts before it were recalled and counted."""
        rows: list[dict[str, float]] = []
        for prompt in self._world["prompts"]:
            own = [name for name in prompt["wanted"] if self._types[name] != "episode"]
            names = await self._database.recall(prompt, count=True)
            if own:
                rows.append(ranked(names, own))
        return rows

    async def measure(self) -> dict[str, list[dict[str, float]]]:
        """Return the figures of each prompt: of recall, each mode of search, the block, and prompts about nothing."""
        rows: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
        for prompt in self._world["prompts"]:
            own = [name for name in prompt["wanted"] if self._types[name] != "episode"]
            if own:
                rows["recall"].append(ranked(await self._database.recall(prompt), own))
            for mode in MODES if prompt["wanted"] else ():
                rows[f"search_{mode}"].append(
                    ranked(await self._database.search(prompt, mode), prompt["wanted"])
                )
            block = await self._database.block(prompt)
            names = self._names(block)
            if own:
                rows["block"].append(self._block(prompt, own, names, block))
            elif not prompt["wanted"]:
                rows["nothing"].append({"empty": float(not names), "lines": len(names)})
        return rows

    def _names(self, block: str) -> list[str | None]:
        """Return the memory of each line of a block, ``None`` for a line without a memory."""
        memories = {
            line_of(memory): memory["id"] for memory in self._world["memories"] if memory["type"] != "episode"
        }
        return [memories.get(line.rsplit(" (", 1)[0]) for line in block.splitlines() if line.startswith("- ")]

    def _block(
        self, prompt: Record, own: Sequence[str], names: Sequence[str | None], block: str
    ) -> dict[str, float]:
        fine = {*prompt["wanted"], *prompt["acceptable"]}
        rules = {name for name in own if self._types[name] == "rule"}
        return {
            "wanted_share": len(set(names) & set(own)) / len(own),
            "precision": sum(name in fine for name in names) / len(names) if names else 0.0,
            "lines": len(names),
            "tokens": math.ceil(len(block) / 4),
            "rules_wanted": len(rules),
            "rules_missing": len(rules - set(names)),
        }


async def run(
    worlds: Sequence[Record], queries: Weights, progress: Progress
) -> dict[str, dict[str, dict[str, float]]]:
    """Measure every world fresh and used, and return the means over all prompts."""
    fresh: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    used: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    in_turn: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    engine = EmbeddingEngine(EmbeddingOptions(queries=queries))
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        async with await open_pool(server.url()) as pool:
            for one in progress.track(worlds):
                database = StoredWorld(pool, engine, one)
                await database.store()
                world = World(database)
                for name, rows in (await world.measure()).items():
                    fresh[name] += rows
                in_turn["recall"] += await world.measure_in_turn()
                await world.use()
                for name, rows in (await world.measure()).items():
                    used[name] += rows
    engine.close()
    return {"fresh": _summary(fresh), "in_turn": _summary(in_turn), "used": _summary(used)}


def _summary(rows: Mapping[str, Sequence[dict[str, float]]]) -> dict[str, dict[str, float]]:
    figures = {
        name: {key: round(fmean(row[key] for row in part), 4) for key in part[0]}
        for name, part in rows.items()
    }
    for key in ("rules_wanted", "rules_missing") if "block" in rows else ():
        figures["block"][key] = sum(row[key] for row in rows["block"])
    return figures


def print_table(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    """Print the figures, fresh, in turn and used."""
    ranks = Table("", *(f"{name} {state.replace('_', ' ')}" for name in RANKS for state in figures))
    for part in figures["fresh"]:
        if part not in {"block", "nothing"}:
            values = [figures[state].get(part, {}).get(name) for name in RANKS for state in figures]
            ranks.add_row(part, *("" if value is None else f"{value:.3f}" for value in values))
    states = ("fresh", "used")
    others = Table("", *states)
    for part in ("block", "nothing"):
        for name in figures["fresh"][part]:
            others.add_row(f"{part} {name}", *(f"{figures[state][part][name]:g}" for state in states))
    console = Console(width=120)
    console.print(ranks)
    console.print(others)


def _no_network() -> NoReturn:
    raise ModelMissingError("blocks are measured by likeness alone")


def _read(data: Path | None, worlds: str, *, occasions: bool) -> list[Record]:
    if data is None:
        read = [current(world) for world in read_worlds(WORLDS[worlds])]
        return with_occasions(read) if occasions else read
    return [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Print the tables, or one JSON document."""
    parser = argparse.ArgumentParser(description="Recall, search and context block on worlds of prompts.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="worlds, one JSON object a line")
    source.add_argument("--worlds", choices=tuple(WORLDS), help="worlds of other authors")
    parser.add_argument("--occasions", action="store_true", help="rules of worlds end with their occasions")
    parser.add_argument("--many", type=int, default=0, help="memories of each world, with others among them")
    parser.add_argument(
        "--among",
        type=Path,
        nargs="+",
        default=[],
        help="conversations in the format of retrieval.py or locomo.py whose sentences are the others",
    )
    parser.add_argument(
        "--reranker", choices=("learned", "off"), default="learned", help="off: blocks by likeness alone"
    )
    add_query_weights(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    if options.reranker == "off":
        reranker.opens = _no_network
    worlds = filled(
        _read(options.data, options.worlds, occasions=options.occasions), options.among, options.many
    )
    with Progress(console=Console(stderr=True)) as progress:
        figures = asyncio.run(run(worlds, options.query_weights, progress))
    if options.json:
        json.dump(figures, sys.stdout, indent=2)
        print()
        return
    print_table(figures)


if __name__ == "__main__":
    main()
