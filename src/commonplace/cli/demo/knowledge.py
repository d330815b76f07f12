"""Steps of the tour about knowledge memory: storage and search, and consolidation of a session."""

import json
from typing import Any, Final

from rich.console import Console
from rich.panel import Panel

from commonplace.cli.demo.step import step
from commonplace.cli.frame.output import shown, table
from commonplace.cli.knowledge.options import about
from commonplace.core.settings import Settings
from commonplace.knowledge import KnowledgeMemory, model_spawner
from commonplace.llm.scripted import Script

EPISODES: Final = (
    "Anna asked why the deploy of checkout took 40 minutes; the cause was a migration that locked the orders table",
    "Anna moved from the checkout team to search, and asked to be left out of checkout alerts",
    "The nightly backup of the orders database failed: the disk of the backup host was full",
)
KNOWN: Final = (
    ("Anna", "team", "is on the checkout team"),
    ("orders database", "backup", "is backed up every night at 02:00 to the backup host"),
    ("Anna", "team", "is on the search team"),
)
RULE: Final = "Run migrations of the orders table in small batches, outside of office hours"
TOPIC: Final = "The orders migration is slow again: does Anna have to know?"
ANSWER: Final[dict[str, Any]] = {
    "new_facts": [
        {
            "subject": "checkout",
            "predicate": "slow deploys",
            "content": "take 40 minutes when a migration locks the orders table",
            "permanence": "stable",
            "importance": 8,
        },
        {
            "subject": "backup host",
            "predicate": "disk",
            "content": "has been full; backups of orders fail then",
        },
        {"subject": "Anna", "predicate": "team", "content": "is on the search team"},
    ],
    "new_rules": [{"content": "Leave Anna out of checkout alerts: she moved to search"}],
}
"""An answer that a model could give; a script plays the model in the tour."""

QUESTION: Final = "Why do deploys of checkout take so long?"


async def know(out: Console, settings: Settings) -> None:
    """Store episodes, facts and a rule, supersede a fact, search and recall."""
    step(
        out,
        6,
        "Agents share knowledge: episodes, facts and rules in PostgreSQL",
        "Embedded PostgreSQL with pgvector, an embedding model without torch, 19 tools over MCP.",
    )
    async with KnowledgeMemory.open(settings) as memory:
        for content in EPISODES:
            await memory.store_episode(content=content, butler="ops")
        for subject, predicate, content in KNOWN:
            receipt = await memory.store_fact(subject=subject, predicate=predicate, content=content)
            became = "stored" if receipt.superseded_id is None else "supersedes an older fact"
            out.print(
                f"memory_store_fact → [green]{became}[/] {shown(f'[{subject}] [{predicate}] {content}')}"
            )
        await memory.store_rule(content=RULE)
        (episode, *_) = await memory.search(TOPIC, types=["episode"], limit=1)
        out.print(f'\nmemory_search [bold]"{TOPIC}"[/] → {shown(episode.memory.content)}')
        for found in await memory.recall(TOPIC, limit=2, explain=True):
            out.print(f"memory_recall → {shown(about(found.memory))}")
            out.print(f"  [dim]{shown(found.explanation.why if found.explanation else '')}[/]")
        block = await memory.context(TOPIC, "ops")
        out.print(Panel(shown(block.rstrip()), title="memory_context", title_align="left", expand=False))


async def consolidate(out: Console, settings: Settings) -> None:
    """Let a scripted model derive facts and a rule from the episodes, and show the next session's context."""
    step(
        out,
        7,
        "Sessions become knowledge",
        "A model reads new episodes, fenced as data, and proposes facts and rules. A script plays the model here.",
    )
    answer = f"```json\n{json.dumps(ANSWER)}\n```"
    spawner = model_spawner(Script(answer).model())
    async with KnowledgeMemory.open(settings) as memory:
        before = await memory.context(QUESTION, "ops")
        report = await memory.runs.consolidate(spawner)
        (run,) = report.runs
        rows = [
            (
                action.action.replace("_", " "),
                " ".join(filter(None, (action.subject, action.predicate))),
                action.content,
            )
            for action in (await memory.runs.get(run.id)).actions
        ]
        out.print(
            table("action", "subject", "text", rows=rows, title=f"{len(run.episode_ids)} episodes, one run")
        )
        after = await memory.context(QUESTION, "ops")
    fresh = [line for line in after.splitlines() if line.startswith("-") and line not in before.splitlines()]
    out.print(f'\nThe next session asks: [bold]"{QUESTION}"[/] New in its context:')
    out.print(Panel(shown("\n".join(fresh)), title="memory_context", title_align="left", expand=False))
    out.print(
        "[dim]Each new fact is linked to its episodes. `commonplace knowledge runs undo` reverts a run as a whole.[/]"
    )
