"""``commonplace knowledge``: episodes, facts and rules of many tenants."""

from typing import Annotated

import typer

from commonplace.cli.knowledge import consolidation as knowledge_consolidation
from commonplace.cli.knowledge import entities as knowledge_entities
from commonplace.cli.knowledge import reembed as knowledge_reembed
from commonplace.cli.knowledge import upkeep as knowledge_upkeep
from commonplace.cli.knowledge.options import (
    TENANT,
    AllowSecrets,
    IdArgument,
    RelevanceOption,
    ScopeOption,
    TenantOption,
    TypeArgument,
    show_fields,
    show_memories,
    use,
)
from commonplace.cli.output import JsonOption, console, print_json
from commonplace.core.errors import StorageUnavailableError
from commonplace.knowledge import (
    DEFAULT_IMPORTANCE,
    DEFAULT_MIN_CONFIDENCE,
    DOOR_LIMIT,
    GLOBAL_SCOPE,
    Permanence,
    SearchMode,
    json_fields,
    json_safe,
)

HELP = "Knowledge memory: episodes, facts, rules and entities."

app = typer.Typer(add_completion=False, help=HELP, no_args_is_help=True)

ImportanceOption = Annotated[float, typer.Option(help="0 to 10.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="A label; may be given more than once.")]
StoreScope = Annotated[str, typer.Option("--scope", help="global, or the butler that the memory is for.")]
ModeOption = Annotated[str, typer.Option(help=f"How memories are found: {', '.join(SearchMode)}.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Explain each result.")]


@app.command("store-episode")
def store_episode(
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The event, in whole sentences.")],
    *,
    butler: Annotated[str, typer.Option(help="Agent whose session it was.")],
    session: Annotated[str | None, typer.Option(help="The session's id, a UUID.")] = None,
    importance: ImportanceOption = DEFAULT_IMPORTANCE,
    tenant: TenantOption = TENANT,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Store an event of a session; it is kept for seven days, or until it is consolidated."""
    receipt = use(
        tenant,
        lambda memory: memory.store_episode(
            content=content,
            butler=butler,
            session_id=session,
            importance=importance,
            allow_secrets=allow_secrets,
        ),
    )
    if receipt.id is None:
        raise StorageUnavailableError(f"not stored: {receipt.reason}")
    if as_json:
        print_json({"id": receipt.id})
    else:
        typer.echo(f"stored episode {receipt.id}")


@app.command("store-fact")
def store_fact(
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
        str, typer.Option(help=f"How long the fact is expected to hold: {', '.join(Permanence)}.")
    ] = Permanence.STANDARD,
    scope: StoreScope = GLOBAL_SCOPE,
    tag: TagOption = None,
    entity: Annotated[str | None, typer.Option(help="Id of the entity that the subject is.")] = None,
    tenant: TenantOption = TENANT,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Store a fact; it replaces the fact of the same subject, predicate and scope."""
    receipt = use(
        tenant,
        lambda memory: memory.store_fact(
            subject=subject,
            predicate=predicate,
            content=content,
            importance=importance,
            permanence=permanence,
            scope=scope,
            tags=tag,
            entity_id=entity,
            allow_secrets=allow_secrets,
        ),
    )
    if as_json:
        print_json(receipt)
        return
    typer.echo(f"stored fact {receipt.id}")
    if receipt.superseded_id is not None:
        typer.echo(f"replaced fact {receipt.superseded_id}")


@app.command("store-rule")
def store_rule(
    content: Annotated[str, typer.Argument(metavar="TEXT", help="What to do, and when.")],
    *,
    scope: StoreScope = GLOBAL_SCOPE,
    tag: TagOption = None,
    tenant: TenantOption = TENANT,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Store a rule; it is a candidate until it has helped."""
    receipt = use(
        tenant,
        lambda memory: memory.store_rule(content=content, scope=scope, tags=tag, allow_secrets=allow_secrets),
    )
    if as_json:
        print_json(receipt)
    else:
        typer.echo(f"stored rule {receipt.id}")


@app.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, or words.")],
    *,
    kind: Annotated[
        list[str] | None, typer.Option("--type", help="episode, fact or rule; may be given more than once.")
    ] = None,
    scope: ScopeOption = None,
    mode: ModeOption = SearchMode.HYBRID,
    limit: Annotated[int, typer.Option(help="Most results.")] = DOOR_LIMIT,
    min_confidence: Annotated[
        float, typer.Option(help="Least confidence of facts and rules today.")
    ] = DEFAULT_MIN_CONFIDENCE,
    min_relevance: Annotated[
        float,
        typer.Option(min=0, max=1, help="Likeness that the best memory must have; in mode contextual only."),
    ] = 0.0,
    explain: ExplainOption = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Find memories, the best first."""
    found = use(
        tenant,
        lambda memory: memory.search(
            query,
            types=kind,
            scope=scope,
            mode=mode,
            limit=limit,
            min_confidence=min_confidence,
            min_relevance=min_relevance,
            explain=explain,
        ),
    )
    if as_json:
        print_json(json_safe({"count": len(found), "results": found}))
    else:
        show_memories(console(), found)


@app.command()
def recall(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")],
    *,
    scope: ScopeOption = None,
    limit: Annotated[int, typer.Option(help="Most results.")] = DOOR_LIMIT,
    min_relevance: RelevanceOption = None,
    explain: ExplainOption = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Recall the facts and rules that matter most for a topic, and count a use of each."""
    found = use(
        tenant,
        lambda memory: memory.recall(
            topic, scope=scope, limit=limit, min_relevance=min_relevance, explain=explain
        ),
    )
    if as_json:
        print_json(json_safe({"count": len(found), "results": found}))
    else:
        show_memories(console(), found, if_empty="no memory covers this")


@app.command()
def get(
    memory_type: TypeArgument,
    memory_id: IdArgument,
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Print all fields of a memory, and count a use."""
    found = use(tenant, lambda memory: memory.get_memory(memory_type, memory_id))
    if as_json:
        print_json(json_safe(found))
    else:
        show_fields(console(), json_fields(found))


@app.command()
def context(
    *,
    prompt: Annotated[str, typer.Option(help="The beginning of the session.")],
    butler: Annotated[str, typer.Option(help="Agent whose session it is.")],
    budget: Annotated[
        int | None, typer.Option(min=0, help="Tokens for the block.", show_default="3000")
    ] = None,
    min_relevance: RelevanceOption = None,
    ids: Annotated[bool, typer.Option("--ids", help="End lines with short ids.")] = False,
    dates: Annotated[bool, typer.Option("--dates", help="Show dates of facts.")] = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Print the block of facts and rules for a session's prompt."""
    block = use(
        tenant,
        lambda memory: memory.context(
            prompt,
            butler,
            token_budget=budget,
            min_relevance=min_relevance,
            with_ids=ids,
            with_dates=dates,
        ),
    )
    if as_json:
        print_json({"text": block})
    elif block:
        typer.echo(block, nl=False)


app.add_typer(knowledge_upkeep.app)
app.add_typer(knowledge_consolidation.app)
app.add_typer(knowledge_consolidation.runs_app, name="runs")
app.add_typer(knowledge_reembed.app)
app.add_typer(knowledge_entities.app, name="entity")
