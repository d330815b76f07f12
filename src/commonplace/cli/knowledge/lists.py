"""``commonplace knowledge list``: facts, rules, episodes and entities, the newest first or by name."""

from typing import Annotated

import typer

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer, commands, listing
from commonplace.cli.knowledge.identity import document
from commonplace.cli.knowledge.options import WithinFacts, WithinRules, about, opened
from commonplace.core.bounds import Offset
from commonplace.knowledge import (
    EVERYTHING,
    EntityType,
    EpisodeStatus,
    FactCriteria,
    KnowledgeMemory,
    Limit,
    Maturity,
    Narrowing,
    RuleCriteria,
    Validity,
    short_id,
)

app = typer.Typer(help="Lists with filters for facts, rules, episodes and entities.", no_args_is_help=True)
command = commands(app, opened)

PAGE = 50

LimitOption = Annotated[int, bounded(Limit, help="Most rows.")]
OffsetOption = Annotated[int, bounded(Offset, help="Rows to skip.")]


@command()
async def facts(
    memory: KnowledgeMemory,
    *,
    validity: Annotated[
        Validity | None, typer.Option(help="State of the facts.", show_default="active, or any in the past")
    ] = None,
    fading: Annotated[bool, typer.Option("--fading", help="Only fading facts.")] = False,
    subject: Annotated[str | None, typer.Option(help="Only facts about exactly this subject.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Only facts with exactly this predicate.")] = None,
    narrowing: WithinFacts = EVERYTHING,
    limit: LimitOption = PAGE,
    offset: OffsetOption = 0,
) -> Answer:
    """List facts by their state, period, subject or source."""
    found = await memory.lists.facts(
        validity=validity or (None if narrowing.is_past else Validity.ACTIVE),
        narrowing=narrowing,
        criteria=FactCriteria(fading=fading or None, subject=subject, predicate=predicate),
        limit=limit,
        offset=offset,
    )
    later = await memory.history.later_facts([] if narrowing.is_past else found)
    return listing(
        "facts",
        found,
        ("id", "fact", "scope", "confidence", "since (UTC)"),
        lambda fact: (
            short_id(fact.memory_type, fact.id),
            about(fact, later.get(fact.id)),
            fact.scope,
            f"{fact.effective_confidence:.2f}",
            fact.created_at,
        ),
        if_empty="No facts.",
        document=document,
    )


@command()
async def rules(
    memory: KnowledgeMemory,
    *,
    maturity: Annotated[Maturity | None, typer.Option(help="State of the rules.", show_default="all")] = None,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Only forgotten rules.")] = False,
    narrowing: WithinRules = EVERYTHING,
    limit: LimitOption = PAGE,
    offset: OffsetOption = 0,
) -> Answer:
    """List rules by their state or source."""
    found = await memory.lists.rules(
        forgotten=forgotten,
        narrowing=narrowing,
        criteria=RuleCriteria(maturity=maturity),
        limit=limit,
        offset=offset,
    )
    return listing(
        "rules",
        found,
        ("id", "rule", "scope", "maturity", "since (UTC)"),
        lambda rule: (
            short_id(rule.memory_type, rule.id),
            about(rule),
            rule.scope,
            rule.maturity,
            rule.created_at,
        ),
        if_empty="No rules.",
        document=document,
    )


@command()
async def episodes(
    memory: KnowledgeMemory,
    *,
    status: Annotated[
        EpisodeStatus | None, typer.Option(help="State of the consolidation.", show_default="all")
    ] = None,
    butler: Annotated[str | None, typer.Option(help="Only this butler's episodes.")] = None,
    expired: Annotated[
        bool, typer.Option("--expired", help="Include expired and forgotten episodes that wait for cleanup.")
    ] = False,
    limit: LimitOption = PAGE,
    offset: OffsetOption = 0,
) -> Answer:
    """List episodes by the state of their consolidation."""
    found = await memory.lists.episodes(
        status=status, narrowing=Narrowing(scope=butler), live=not expired, limit=limit, offset=offset
    )
    return listing(
        "episodes",
        found,
        ("id", "episode", "butler", "status", "since (UTC)"),
        lambda episode: (
            short_id(episode.memory_type, episode.id),
            about(episode),
            episode.butler,
            episode.consolidation_status,
            episode.created_at,
        ),
        if_empty="No episodes.",
        document=document,
    )


@command()
async def entities(
    memory: KnowledgeMemory,
    *,
    name: Annotated[str | None, typer.Option(help="Text in one of the names; case does not matter.")] = None,
    kind: Annotated[EntityType | None, typer.Option("--type", help="Only this type.")] = None,
    merged: Annotated[
        bool, typer.Option("--merged", help="Only entities that were merged into another.")
    ] = False,
    limit: LimitOption = PAGE,
    offset: OffsetOption = 0,
) -> Answer:
    """List entities by name, with the number of their facts."""
    found = await memory.lists.entities(
        name=name, entity_type=kind, merged=merged, limit=limit, offset=offset
    )
    return listing(
        "entities",
        found,
        ("id", "name", "type", "aliases", "facts"),
        lambda entity: (
            short_id("entity", entity.id),
            entity.canonical_name,
            entity.entity_type,
            ", ".join(entity.aliases),
            entity.facts,
        ),
        if_empty="No entities.",
        document=document,
    )
