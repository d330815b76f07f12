"""``commonplace add``: store a fact, a rule, a lesson, a note or an episode."""

from typing import Annotated

import typer

from commonplace.cli.catalog.opening import change_answer, opened_catalog
from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import AllowSecrets, ReplacesOption
from commonplace.knowledge import GLOBAL_SCOPE, EpisodeDraft, FactDraft, Permanence, RuleDraft
from commonplace.operational import MemoryCategory
from commonplace.services.catalog.catalog import Catalog
from commonplace.workspace import NoteScope

ScopeOption = Annotated[str, typer.Option(help="The project or butler that it is for.")]
TagOption = Annotated[list[str] | None, typer.Option(help="A label. Repeatable.")]

app = typer.Typer(add_completion=False, no_args_is_help=True)
command = commands(app, opened_catalog)


@command()
async def fact(
    catalog: Catalog,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="Who or what the fact is about.")],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help="A relation, such as lives_in.")],
    content: Annotated[str, typer.Argument(metavar="TEXT", help="The value, or a sentence.")],
    *,
    scope: ScopeOption = GLOBAL_SCOPE,
    tag: TagOption = None,
    permanence: Annotated[
        Permanence, typer.Option(help="Expected lifetime of the fact.")
    ] = Permanence.STANDARD,
    valid_from: Annotated[str | None, typer.Option(metavar="TIME", help="When the fact became true.")] = None,
    valid_to: Annotated[
        str | None, typer.Option(metavar="TIME", help="The last day on which the fact is true.")
    ] = None,
    replaces: ReplacesOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add a fact. It replaces the fact of the same subject, predicate and scope."""
    draft = FactDraft(
        subject=subject,
        predicate=predicate,
        content=content,
        scope=scope,
        tags=tag,
        permanence=permanence,
        valid_from=valid_from,
        valid_to=valid_to,
    )
    return change_answer(await catalog.add_fact(draft, replaces=replaces, allow_secrets=allow_secrets))


@command()
async def rule(
    catalog: Catalog,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The instruction, such as: Ask before a deployment.")
    ],
    *,
    scope: ScopeOption = GLOBAL_SCOPE,
    tag: TagOption = None,
    replaces: ReplacesOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add a rule: how to act."""
    draft = RuleDraft(content=text, scope=scope, tags=tag)
    return change_answer(await catalog.add_rule(draft, replaces=replaces, allow_secrets=allow_secrets))


@command()
async def episode(
    catalog: Catalog,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The event, in whole sentences.")],
    *,
    butler: Annotated[str, typer.Option(help="The project or agent that it happened to.")] = GLOBAL_SCOPE,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add an episode: an event, kept for seven days or until it is consolidated."""
    draft = EpisodeDraft(content=text, butler=butler)
    return change_answer(await catalog.add_episode(draft, allow_secrets=allow_secrets))


@command()
async def lesson(
    catalog: Catalog,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The observation.")],
    *,
    category: Annotated[MemoryCategory, typer.Option(help="The category.")],
    service: Annotated[str | None, typer.Option(help="The service; default: all services.")] = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add a lesson for a scheduled ops agent."""
    return change_answer(
        await catalog.add_lesson(text, category=category, service=service, allow_secrets=allow_secrets)
    )


@command()
async def note(
    catalog: Catalog,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="At most 500 characters.")],
    *,
    tag: TagOption = None,
    scope: Annotated[NoteScope, typer.Option(help="The subject of the note.")] = NoteScope.WORKSPACE,
    replaces: ReplacesOption = None,
    allow_secrets: AllowSecrets = False,
) -> Answer:
    """Add a note of the workspace, stored beside the code."""
    return change_answer(
        await catalog.add_note(
            text, tags=tag or (), scope=scope, replaces=replaces, allow_secrets=allow_secrets
        )
    )
