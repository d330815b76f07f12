"""``commonplace knowledge entity``: the people, organizations and places that facts are about."""

from typing import Annotated

import typer

from commonplace.cli.knowledge.options import (
    TENANT,
    AllowSecrets,
    IdArgument,
    TenantOption,
    json_object,
    show_fields,
    use,
)
from commonplace.cli.output import JsonOption, console, plain, print_json, table
from commonplace.knowledge import Entity, EntityType, MergeReceipt, UnmergeReceipt

TYPES = ", ".join(EntityType)

app = typer.Typer(
    add_completion=False,
    help="The people, organizations and places that facts are about.",
    no_args_is_help=True,
)

AliasOption = Annotated[list[str] | None, typer.Option("--alias", help="A further name; may be repeated.")]
MetadataOption = Annotated[str | None, typer.Option(help="A JSON object.")]
KindOption = Annotated[str | None, typer.Option("--type", help=f"Only this type: {TYPES}.")]


@app.callback()
def group() -> None:
    """The people, organizations and places that facts are about."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The best-known name.")],
    *,
    kind: Annotated[str, typer.Option("--type", help=f"The type: {TYPES}.")],
    alias: AliasOption = None,
    metadata: MetadataOption = None,
    tenant: TenantOption = TENANT,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Add an entity; name and type together are unique."""
    details = json_object(metadata, field="metadata")
    entity = use(
        tenant,
        lambda memory: memory.entity_create(
            canonical_name=name,
            entity_type=kind,
            aliases=alias,
            metadata=details,
            allow_secrets=allow_secrets,
        ),
    )
    _show(entity, as_json=as_json)


@app.command()
def get(entity_id: IdArgument, *, tenant: TenantOption = TENANT, as_json: JsonOption = False) -> None:
    """Print an entity; the survivor_id of a merged entity names the entity that replaced it."""
    entity = use(tenant, lambda memory: memory.entity_get(entity_id))
    _show(entity, as_json=as_json)


@app.command()
def update(
    entity_id: IdArgument,
    *,
    name: Annotated[str | None, typer.Option(help="The new name.")] = None,
    alias: AliasOption = None,
    no_aliases: Annotated[bool, typer.Option("--no-aliases", help="Remove all aliases.")] = False,
    metadata: MetadataOption = None,
    tenant: TenantOption = TENANT,
    allow_secrets: AllowSecrets = False,
    as_json: JsonOption = False,
) -> None:
    """Change an entity: the list of aliases is replaced, metadata keys are set one by one."""
    details = json_object(metadata, field="metadata")
    aliases = [] if no_aliases else alias
    entity = use(
        tenant,
        lambda memory: memory.entity_update(
            entity_id, canonical_name=name, aliases=aliases, metadata=details, allow_secrets=allow_secrets
        ),
    )
    _show(entity, as_json=as_json)


@app.command()
def resolve(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name or a part of one.")],
    *,
    kind: KindOption = None,
    topic: Annotated[str | None, typer.Option(help="The topic of the conversation.")] = None,
    mentioned_with: Annotated[
        list[str] | None,
        typer.Option("--with", help="A name mentioned with it; may be repeated."),
    ] = None,
    fuzzy: Annotated[bool, typer.Option("--fuzzy", help="Also find similar spellings.")] = False,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Find the entities that a name may mean, the likeliest first."""
    hints = {"topic": topic, "mentioned_with": mentioned_with}
    given = {key: value for key, value in hints.items() if value}
    found = use(
        tenant,
        lambda memory: memory.entity_resolve(
            name, entity_type=kind, context_hints=given or None, enable_fuzzy=fuzzy
        ),
    )
    if as_json:
        print_json({"count": len(found), "candidates": found})
        return
    rows = [
        (
            each.entity_id,
            each.canonical_name,
            each.entity_type,
            ", ".join(each.aliases),
            each.name_match,
            each.score,
        )
        for each in found
    ]
    columns = ("id", "name", "type", "aliases", "match", "score")
    console().print(table(*columns, rows=rows) if rows else "no entities")


@app.command()
def merge(
    source_id: Annotated[str, typer.Argument(metavar="SOURCE", help="The entity to merge away.")],
    target_id: Annotated[str, typer.Argument(metavar="TARGET", help="The entity that stays.")],
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Merge two entities that are the same; names and facts move to the target."""
    receipt = use(tenant, lambda memory: memory.entity_merge(source_id, target_id))
    _show(receipt, as_json=as_json)


@app.command()
def unmerge(
    source_id: Annotated[str, typer.Argument(metavar="SOURCE", help="The entity that was merged.")],
    *,
    tenant: TenantOption = TENANT,
    as_json: JsonOption = False,
) -> None:
    """Undo a merge; fields that changed since stay, and are named."""
    receipt = use(tenant, lambda memory: memory.entity_unmerge(source_id))
    _show(receipt, as_json=as_json)


def _show(record: Entity | MergeReceipt | UnmergeReceipt, *, as_json: bool) -> None:
    if as_json:
        print_json(record)
    else:
        show_fields(console(), plain(record))
