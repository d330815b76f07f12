"""``commonplace knowledge``: episodes, facts and rules of many tenants."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer

from commonplace.cli.bounds import bounded
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.ids import with_short_id
from commonplace.cli.frame.output import AllowSecrets, ReplacesOption
from commonplace.cli.frame.run import source as door
from commonplace.cli.knowledge import consolidation, entities, history, lists, reembed, upkeep
from commonplace.cli.knowledge.identity import current_id, document
from commonplace.cli.knowledge.options import (
    AsOfOption,
    IdArgument,
    RelevanceOption,
    TypeArgument,
    Within,
    WithinBlock,
    entity_of,
    json_object,
    opened,
    record,
    results,
)
from commonplace.core.bounds import BudgetTokens, Share
from commonplace.core.errors import InvalidInputError, StorageUnavailableError
from commonplace.core.instructions import in_words
from commonplace.core.sources import Source
from commonplace.knowledge import (
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_IMPORTANCE,
    DEFAULT_LIMIT,
    DEFAULT_MIN_CONFIDENCE,
    EVERYTHING,
    GLOBAL_SCOPE,
    BlockStyle,
    FactReceipt,
    Importance,
    KnowledgeMemory,
    Limit,
    MemoryType,
    Period,
    Permanence,
    SearchMode,
    short_id,
)
from commonplace.services.catalog.rule_remarks import rule_note
from commonplace.services.memory_ids import MemoryKind
from commonplace.services.review.ids import ItemId, ItemKind

app = typer.Typer(add_completion=False, no_args_is_help=True)
command = commands(app, opened)

ImportanceOption = Annotated[float, bounded(Importance, help="How much it matters.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="A label. Repeatable.")]
StoreScope = Annotated[str, typer.Option("--scope", help="global, or the name of the butler that it is for.")]
LimitOption = Annotated[
    int | None,
    bounded(Limit, help="Maximum number of results.", show_default=str(DEFAULT_LIMIT)),
]
MinConfidenceOption = Annotated[float, bounded(Share, help="Minimum confidence of facts and rules today.")]
MetadataOption = Annotated[
    dict[str, Any] | None,
    typer.Option("--metadata", metavar="JSON", parser=json_object, help="Further details as a JSON object."),
]
SourceOption = Annotated[
    Source | None,
    typer.Option(
        "--source", help="Where the text comes from.", show_default="person, or agent in an agent's shell"
    ),
]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Explain each result.")]


@command("store-episode")
async def store_episode(
    memory: KnowledgeMemory,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The event, in whole sentences.")],
    *,
    butler: Annotated[str, typer.Option(help="The agent that ran the session.")],
    session: Annotated[str | None, typer.Option(help="The session's id, a UUID.")] = None,
    importance: ImportanceOption = DEFAULT_IMPORTANCE,
    source: SourceOption = None,
    metadata: MetadataOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Store an event of a session. The episode is kept for seven days or until it is consolidated."""
    receipt = await memory.store_episode(
        content=content,
        butler=butler,
        session_id=session,
        importance=importance,
        source=source,
        metadata=metadata,
        allow_secrets=allow_secrets,
    )
    if receipt.id is None:
        raise StorageUnavailableError(f"not stored: {receipt.reason}")
    episode = short_id(MemoryType.EPISODE, receipt.id)
    return Answer({"id": receipt.id, "short_id": episode}, f"stored episode {episode}")


@command("store-fact")
async def store_fact(
    memory: KnowledgeMemory,
    subject: Annotated[
        str, typer.Argument(metavar="SUBJECT", help="Person or thing that the fact is about.")
    ],
    predicate: Annotated[
        str, typer.Argument(metavar="PREDICATE", help="The attribute or relation, such as lives_in.")
    ],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The fact, as one sentence.")],
    *,
    importance: ImportanceOption = DEFAULT_IMPORTANCE,
    permanence: Annotated[
        Permanence, typer.Option(help="Expected lifetime of the fact.")
    ] = Permanence.STANDARD,
    scope: StoreScope = GLOBAL_SCOPE,
    tag: TagOption = None,
    entity: Annotated[
        str | None, typer.Option(help="The ID or name of the entity that the subject refers to.")
    ] = None,
    valid_from: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When the fact became true: a date or a time, such as 2026-05-01."),
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="The last day on which the fact is true, or the time when it ends."
        ),
    ] = None,
    source: SourceOption = None,
    replaces: ReplacesOption = None,
    metadata: MetadataOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Store a fact; it replaces the fact of the same subject, predicate and scope.

    If the period of the new fact has ended, the other fact stays current and the new fact is kept as history.

    If the sentence names a period, such as "since May", the command prints how it read the period. To correct the
    period, store the fact again with --valid-from or --valid-to.
    """
    receipt = await memory.store_fact(
        subject=subject,
        predicate=predicate,
        content=content,
        importance=importance,
        permanence=permanence,
        scope=scope,
        tags=tag,
        entity_id=None if entity is None else await entity_of(memory, entity),
        valid_from=valid_from,
        valid_to=valid_to,
        source=source,
        replaces=replaces,
        metadata=metadata,
        allow_secrets=allow_secrets,
    )
    fact = short_id(MemoryType.FACT, receipt.id)
    text = f"stored fact {fact}{_effect(receipt)}{_near(receipt)}{_period_text(receipt.period)}"
    return Answer(with_short_id(MemoryKind.FACT, receipt), text)


def _effect(receipt: FactReceipt) -> str:
    effect = _flagged(receipt.flags)
    if receipt.current_id is not None:
        effect = f"\nkept as history: {receipt.current_text!r} stays current{effect}"
    if receipt.superseded_id is not None:
        until = receipt.superseded_until
        when = "" if until is None else f" from {until:%Y-%m-%d}; until then"
        old = short_id(MemoryType.FACT, receipt.superseded_id)
        became = "took the place of fact" if receipt.reworded else "replaced fact"
        same = ", which says the same in other words" if receipt.reworded else ""
        replaced = f"\n{became} {old}{when}{same}: {receipt.superseded_text}"
        effect = f"{replaced}{_both(receipt.review_id)}{effect}"
    if receipt.contradicts_id is not None:
        other = short_id(MemoryType.FACT, receipt.contradicts_id)
        effect = (
            f"\nheld, because it contradicts the more trusted fact {other}; decide with: commonplace review"
        )
    for other in receipt.opposed_ids:
        older, newer = (short_id(MemoryType.FACT, each) for each in (other, receipt.id))
        pair = ItemId(kind=ItemKind.OPPOSED, first=older, second=newer)
        effect = f"{effect}\nmay contradict fact {older}; decide with: commonplace review {pair}"
    return effect


def _near(receipt: FactReceipt) -> str:
    if receipt.near is None:
        return ""
    near, new = (short_id(MemoryType.FACT, each) for each in (receipt.near.id, receipt.id))
    pair = ItemId(kind=ItemKind.DUPLICATE, first=near, second=new)
    return (
        f"\nThe fact {near} has nearly this key: {receipt.near.subject!r} {receipt.near.predicate!r}. "
        f"Both facts are current. If both say the same: commonplace review {pair} same"
    )


def _both(review_id: int | None) -> str:
    if review_id is None:
        return ""
    pair = ItemId(kind=ItemKind.FACTS, first=str(review_id))
    return f"\nThe replaced fact matters. To keep both: commonplace review {pair} distinct"


def _period_text(period: Period | None) -> str:
    if period is None:
        return ""
    begins = f" from {period.valid_from:%Y-%m-%d}" if period.valid_from else ""
    ends = f" until the end of {period.valid_to - timedelta(days=1):%Y-%m-%d}" if period.valid_to else ""
    remark = f" ({period.remark})" if period.remark else ""
    return f"\nperiod{begins}{ends}, read from “{period.words}”{remark}"


@command("store-rule")
async def store_rule(
    memory: KnowledgeMemory,
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The rule: what to do, and when.")],
    *,
    scope: StoreScope = GLOBAL_SCOPE,
    tag: TagOption = None,
    source: SourceOption = None,
    replaces: ReplacesOption = None,
    metadata: MetadataOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Store a rule, unless it is there already. The rule is a candidate until it has helped."""
    receipt = await memory.store_rule(
        content=content,
        scope=scope,
        tags=tag,
        source=source,
        replaces=replaces,
        metadata=metadata,
        allow_secrets=allow_secrets,
    )
    named = short_id(MemoryType.RULE, receipt.id)
    stored = "" if receipt.repeated else f"stored rule {named}{_flagged(receipt.flags)}\n"
    text = f"{stored}{rule_note(receipt)}".rstrip()
    return Answer(with_short_id(MemoryKind.RULE, receipt), text)


def _flagged(flags: Sequence[str]) -> str:
    if not flags or door() is Source.PERSON:
        return ""
    return f"\nlooks like an instruction ({in_words(flags)}): blocks omit it until a person confirms it"


@command()
async def search(
    memory: KnowledgeMemory,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")],
    *,
    kind: Annotated[
        list[MemoryType] | None, typer.Option("--type", help="Only memories of this type. Repeatable.")
    ] = None,
    mode: Annotated[SearchMode, typer.Option(help="Search mode.")] = SearchMode.HYBRID,
    limit: LimitOption = None,
    min_confidence: MinConfidenceOption = DEFAULT_MIN_CONFIDENCE,
    min_relevance: Annotated[
        float,
        bounded(Share, help="Minimum similarity of the best result; only in mode contextual."),
    ] = 0.0,
    narrowing: Within = EVERYTHING,
    explain: ExplainOption = False,
) -> Answer:
    """Find episodes, facts and rules, best match first."""
    found = await memory.search(
        query,
        types=kind,
        mode=mode,
        limit=memory.config.retrieval.at_door(limit),
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        narrowing=narrowing,
        explain=explain,
    )
    return results(found)


@command()
async def recall(
    memory: KnowledgeMemory,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")],
    *,
    limit: LimitOption = None,
    min_confidence: MinConfidenceOption = DEFAULT_MIN_CONFIDENCE,
    min_relevance: RelevanceOption = None,
    narrowing: Within = EVERYTHING,
    explain: ExplainOption = False,
) -> Answer:
    """Recall the facts and rules that matter most for a topic, and count each as used."""
    if not topic.strip():
        raise InvalidInputError("topic", "text, such as a question or a name", topic)
    found = await memory.recall(
        topic,
        limit=memory.config.retrieval.at_door(limit),
        min_confidence=min_confidence,
        min_relevance=min_relevance,
        narrowing=narrowing,
        explain=explain,
    )
    return results(found, if_empty="No facts or rules.")


@command()
async def get(
    memory: KnowledgeMemory, memory_type: TypeArgument, memory_id: IdArgument, *, as_of: AsOfOption = None
) -> Answer:
    """Print all fields of an episode, fact or rule, and count a use unless --as-of is given."""
    wanted = await current_id(memory, memory_type, memory_id) if as_of is None else memory_id
    fields = document(await memory.get(memory_type, wanted, as_of=as_of))
    return record(fields, fields)


@command()
async def context(
    memory: KnowledgeMemory,
    *,
    prompt: Annotated[str, typer.Option(help="The first prompt of the session.")],
    butler: Annotated[str, typer.Option(help="The agent that runs the session.")],
    budget: Annotated[
        int | None,
        bounded(
            BudgetTokens,
            help="Maximum size of the block in tokens.",
            show_default=str(DEFAULT_BUDGET_TOKENS),
        ),
    ] = None,
    min_relevance: RelevanceOption = None,
    ids: Annotated[
        bool, typer.Option("--ids", help="End each line with the short id of its memory.")
    ] = False,
    dates: Annotated[bool, typer.Option("--dates", help="Show the date of each fact and rule.")] = False,
    narrowing: WithinBlock = EVERYTHING,
) -> Answer:
    """Print the block of facts and rules for a session's prompt."""
    block = await memory.context(
        prompt,
        butler,
        narrowing=narrowing,
        budget_tokens=budget,
        min_relevance=min_relevance,
        style=BlockStyle(ids=ids, dates=dates),
    )
    return Answer({"text": block}, lambda _: typer.echo(block, nl=False))


app.add_typer(lists.app, name="list")
app.add_typer(history.app)
app.add_typer(upkeep.app)
app.add_typer(consolidation.app)
app.add_typer(consolidation.runs_app, name="runs")
app.add_typer(reembed.app)
app.add_typer(entities.app, name="entity")
