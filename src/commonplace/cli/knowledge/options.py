"""Options, opening and tables that the commands of knowledge memory share."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Final, TypeVar, cast

import typer
from rich.console import Console

from commonplace.cli.output import shown, table
from commonplace.cli.run import ACTOR, run, settings
from commonplace.core.context import DEFAULT_TENANT
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import trim_to
from commonplace.knowledge import Fact, Found, KnowledgeMemory, Memory, Scores

TENANT: Final = DEFAULT_TENANT
SHOWN_CHARS: Final = 300
"""Most characters of a text in a table; ``--json`` and ``get`` show the whole text."""

SCORES: Final = ("composite_score", "contextual_score", "rrf_score", "similarity", "rank")
"""The scores that rank results; a result shows the first one that it has."""

TenantOption = Annotated[str, typer.Option("--tenant", help="Owner of the memories.")]
ScopeOption = Annotated[
    str | None,
    typer.Option(
        "--scope", help="Name of a butler: memories that are global or its own.", show_default="everything"
    ),
]
AllowSecrets = Annotated[bool, typer.Option("--allow-secrets", help="Store text that looks like a secret.")]
TypeArgument = Annotated[str, typer.Argument(metavar="TYPE", help="episode, fact or rule.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="A UUID, or a short id: f:3k7q2.")]
RelevanceOption = Annotated[
    float | None,
    typer.Option(
        "--min-relevance",
        min=0,
        max=1,
        help="Likeness that the best memory must have, or none is shown; 0 for no floor.",
        show_default="min_relevance of the settings",
    ),
]

_T = TypeVar("_T")


def use(tenant: str, work: Callable[[KnowledgeMemory], Awaitable[_T]]) -> _T:
    """Run a command's work on the knowledge memory of a tenant.

    Raises:
        InvalidInputError: The tenant's id is malformed.
        StorageError: The database cannot be opened.
    """

    async def opened() -> _T:
        async with KnowledgeMemory.open(settings(), tenant_id=tenant, actor=ACTOR) as memory:
            return await work(memory)

    return run(opened())


def show_memories(out: Console, found: Sequence[Found], *, if_empty: str = "no memories") -> None:
    """Print memories as a table, the best first, and under the table the explanations, if there are any."""
    rows = [
        (
            number,
            each.memory.memory_type,
            each.memory.id,
            about(each.memory),
            _score(each.scores),
            f"{each.memory.created_at:%Y-%m-%d %H:%M}",
        )
        for number, each in enumerate(found, start=1)
    ]
    out.print(table("", "type", "id", "text", "score", "since (UTC)", rows=rows) if rows else if_empty)
    for number, each in enumerate(found, start=1):
        if each.explanation is not None:
            out.print(f"[bold]{number}[/] [dim]{shown(each.explanation.why)}[/]")


def about(memory: Memory) -> str:
    """Return the text of a memory for a table; of a fact with its subject and predicate."""
    content = trim_to(memory.content, SHOWN_CHARS)
    return f"{memory.subject} {memory.predicate}: {content}" if isinstance(memory, Fact) else content


def _score(scores: Scores) -> str:
    values = (getattr(scores, name) for name in SCORES)
    return next((f"{value:.4f}" for value in values if value is not None), "")


def show_fields(out: Console, record: Mapping[str, object]) -> None:
    """Print one record, a line for each field that is not empty."""
    rows = [(name, _value(value)) for name, value in record.items() if value not in (None, [], {}, ())]
    out.print(table("field", "value", rows=rows))


def _value(value: object) -> str:
    return (
        json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, dict | list | tuple)
        else str(value)
    )


def json_object(text: str | None, *, field: str) -> dict[str, Any] | None:
    """Read an option that is a JSON object.

    Raises:
        InvalidInputError: The text is not a JSON object.
    """
    if text is None:
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidInputError(field, 'a JSON object such as {"team": "infra"}', text)
    return cast("dict[str, Any]", value)
