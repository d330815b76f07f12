"""Measure whether a search finds a sentence by its meaning at each place of a long text.

Each of 40 sentences is put at the beginning, in the middle or at the end of a text of its own, which is otherwise made
of sentences about the daily work of a company. Its question shares no content word with it. A question finds its
sentence if the text is among the first five results. Every case has a tenant of its own with the 40 texts of one length
and one place. Each search runs with the passages of the texts, and again after they were deleted.

    python benchmarks/passages.py [--lengths 1500,4000,10000] [--json]

It takes about two minutes.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Sequence
from typing import Final

import asyncpg
from rich.console import Console
from rich.table import Table

from commonplace.core.request_context import request_context
from commonplace.embedding import EmbeddingEngine
from commonplace.knowledge.memories.episodes import EpisodeDraft
from commonplace.knowledge.storage_functions import memory_search, store_episodes
from commonplace.language.words import content_words
from commonplace.storage.cluster import SUPERUSER
from commonplace.storage.migrations.runner import migrate_postgres
from commonplace.storage.postgres import open_pool
from scratch_server import scratch_server

SEED: Final = 8
NEAREST: Final = 5
PLACES: Final = ("beginning", "middle", "end")
MODES: Final = ("semantic", "contextual")

NEEDLES: Final = (
    ("Ada is allergic to peanuts.", "Which foods must be kept away from the guest?"),
    ("The spare key hangs behind the garden shed.", "How do I get into the house when locked out?"),
    ("Tom proposed to his girlfriend on the beach.", "Who is engaged to be married?"),
    ("The kitten was named Mochi.", "What is the pet called?"),
    ("Grandmother broke her hip last winter.", "Did an elderly relative have an injury?"),
    ("My violin lessons are on Thursdays.", "When do I practise a musical instrument?"),
    ("The rent went up to 1,450 euros.", "How expensive is the apartment per month?"),
    ("He cannot swim and is afraid of deep water.", "Is a boat trip a good idea for him?"),
    ("The volcano near the village erupted in May.", "Was there a natural disaster?"),
    ("Her doctor prescribed insulin.", "Does she suffer from diabetes?"),
    ("We adopted a three-year-old girl.", "How did the family get a child?"),
    ("The wine from that vineyard tasted of vinegar.", "Which drink had gone bad?"),
    ("Luis was elected mayor.", "Who won political office?"),
    ("The telescope shows the rings of Saturn.", "What can I look at in the night sky?"),
    ("I quit smoking two years ago.", "Do I still use cigarettes?"),
    ("Their flight was cancelled because of fog.", "Why was the air travel disrupted by weather?"),
    ("The chess club meets in the library basement.", "Where can I play a board game?"),
    ("She speaks Portuguese with her father.", "Which foreign language does the daughter know?"),
    ("The baby was born at four in the morning.", "What time did the mother give birth?"),
    ("A burglar took the silver candlesticks.", "What was stolen by the thief?"),
    ("Ben is a vegetarian.", "Can I serve him meat for dinner?"),
    ("The bees produced forty jars of honey.", "How much did the hives yield?"),
    ("My car needs new brakes.", "What repair does the vehicle require?"),
    ("The wedding cake had five tiers of lemon sponge.", "What dessert was served at the marriage?"),
    ("He snores so loudly that I sleep next door.", "Why do the spouses use separate bedrooms?"),
    ("The museum bought a painting by Vermeer.", "Which artwork did the gallery acquire?"),
    ("Our roof leaks when it rains.", "Where does water come into the house?"),
    ("She ran the marathon in under four hours.", "How fast was her long-distance race?"),
    ("Uncle Karl was buried beside the chapel.", "Where is the grave of the deceased man?"),
    ("The tomatoes died of frost.", "What killed the vegetables in the garden?"),
    ("Nina studies law in Vienna.", "Where does the young woman attend university to become an attorney?"),
    ("The dog bit the postman.", "Was a mail carrier hurt by an animal?"),
    ("I am saving for a sailing boat.", "What do I want to buy with my money?"),
    ("The neighbours keep a parrot that sings opera.", "Which bird lives next to us?"),
    ("The bridge collapsed under a lorry.", "What happened when the truck crossed the river?"),
    ("He wears hearing aids in both ears.", "Is the man partly deaf?"),
    ("The orchestra is looking for a new conductor.", "Which leader do the musicians need?"),
    ("Sofia grew up in an orphanage.", "Where did she live as a child without parents?"),
    ("The skiers were caught in an avalanche.", "What accident happened in the snow?"),
    ("My passport expires in August.", "Until when can I travel abroad with my document?"),
)
"""Sentences, each with a question about it."""

SUBJECTS: Final = (
    *(
        "The billing team",
        "The support desk",
        "The release manager",
        "The new analyst",
        "Our supplier in Leeds",
    ),
    *("The audit group", "The design lead", "The data platform", "The night shift", "The sales office"),
)
VERBS: Final = (
    *("reviewed", "postponed", "approved", "documented", "compared", "escalated", "estimated", "rewrote"),
    *("presented", "archived"),
)
OBJECTS: Final = (
    *("the quarterly forecast", "the migration plan", "the onboarding checklist", "the incident report"),
    *(
        "the pricing table",
        "the load test",
        "the vendor contract",
        "the backlog of tickets",
        "the access policy",
    ),
    *("the dashboard for managers",),
)
ENDINGS: Final = (
    *("before the steering meeting", "with two colleagues from finance", "after a long discussion"),
    *("because a deadline had moved", "and sent a summary by mail", "without any objections"),
    *("in the second sprint of the quarter", "while the servers were being upgraded"),
    *("to reduce the cost of operations", "and asked for comments by Friday"),
)


def filler(length: int, rng: random.Random) -> list[str]:
    """Return sentences with a total length."""
    sentences: list[str] = []
    while sum(len(each) + 1 for each in sentences) < length:
        sentences.append(" ".join(rng.choice(words) for words in (SUBJECTS, VERBS, OBJECTS, ENDINGS)) + ".")
    return sentences


def text_with(needle: str, length: int, place: str, rng: random.Random) -> str:
    """Return a text of about ``length`` characters, with a sentence at a place."""
    sentences = filler(length - len(needle), rng)
    at = {"beginning": 1, "middle": len(sentences) // 2, "end": len(sentences) - 1}[place]
    return " ".join([*sentences[:at], needle, *sentences[at:]])


def require_no_shared_words() -> None:
    """Check that no question shares a word with its sentence."""
    for needle, question in NEEDLES:
        shared = content_words(needle) & content_words(question)
        if shared:
            raise SystemExit(f"{needle!r} shares {sorted(shared)} with its question")


async def hit_rate(pool: asyncpg.Pool, engine: EmbeddingEngine, mode: str) -> float:
    """Return the share of questions that find their sentence."""
    hits = 0
    for needle, question in NEEDLES:
        results = await memory_search(pool, engine, question, types=["episode"], mode=mode, limit=NEAREST)
        hits += any(needle in each.memory.content for each in results)
    return hits / len(NEEDLES)


async def measure(lengths: Sequence[int]) -> list[dict[str, object]]:
    """Return a row for each length and place."""
    require_no_shared_words()
    engine, rng = EmbeddingEngine(), random.Random(SEED)  # noqa: S311 - no secret
    rows: list[dict[str, object]] = []
    with scratch_server() as server:
        await migrate_postgres(server.url(), "memory")
        admin = await asyncpg.connect(server.url(role=SUPERUSER))
        async with await open_pool(server.url()) as pool:
            for length in lengths:
                for place in PLACES:
                    row: dict[str, object] = {"length": length, "place": place}
                    with request_context(tenant_id=f"{place}-{length}", actor="benchmark"):
                        texts = [text_with(needle, length, place, rng) for needle, _ in NEEDLES]
                        await store_episodes(
                            pool, engine, [EpisodeDraft(content=text, butler="benchmark") for text in texts]
                        )
                        for mode in MODES:
                            row[f"{mode}, with passages"] = await hit_rate(pool, engine, mode)
                        await admin.execute("TRUNCATE episode_passages")
                        for mode in MODES:
                            row[f"{mode}, without"] = await hit_rate(pool, engine, mode)
                    rows.append(row)
        await admin.close()
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lengths", default="1500,4000,10000")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = asyncio.run(measure([int(each) for each in arguments.lengths.split(",")]))
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    columns = [f"{mode}, {passages}" for mode in MODES for passages in ("without", "with passages")]
    table = Table("characters", "place", *columns, title=f"Found among the first {NEAREST} of {len(NEEDLES)}")
    for row in rows:
        table.add_row(str(row["length"]), str(row["place"]), *(f"{row[each]:.2f}" for each in columns))
    Console().print(table)


if __name__ == "__main__":
    main()
