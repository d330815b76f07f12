"""``commonplace erase``: delete memories for good."""

from typing import Annotated

import typer

from commonplace.cli.frame.command import Answer, commands
from commonplace.cli.frame.output import JsonOption
from commonplace.cli.frame.question import confirmed
from commonplace.cli.frame.run import settings
from commonplace.core.errors import CommonplaceError, InvalidInputError
from commonplace.core.quoting import quoted
from commonplace.core.text import plural
from commonplace.services.erasure.erasing import (
    ErasureReceipt,
    Preview,
    preview,
    whole_tenant,
)
from commonplace.services.erasure.selection import By, Selection
from commonplace.services.erasure.wording import lines_of
from commonplace.services.sync.erasing import erase_everywhere

app = typer.Typer(add_completion=False)


def _foretell(foreseen: Preview) -> str:
    """Return what an erasure will do, with what to think of before."""
    lines = lines_of(foreseen.parts, is_done=False)
    return "\n".join(["This is a preview. Nothing is erased.", *lines, *_asides(foreseen)])


def _asides(foreseen: Preview) -> list[str]:
    warnings = [f"warning: {each}" for each in foreseen.warnings]
    return [*warnings, *(f"question: {each}" for each in foreseen.questions)]


def _describe(receipt: ErasureReceipt, title: str) -> str:
    lines = [title, *lines_of(receipt.parts, is_done=True), ""]
    searched = f"The proof searched all tables and files for {plural(receipt.searched_texts, 'text')}"
    if receipt.remains:
        lines += [f"{searched} and still found some in:", *(f"  {each}" for each in receipt.remains)]
    else:
        lines.append(f"{searched} and found no trace.")
    lines += [f"problem: {each}" for each in receipt.problems]
    return "\n".join([*lines, "Not reached:", *(f"  {each}" for each in receipt.not_reached)])


def _selection(
    subject: str | None, source: str | None, session: str | None, tenant: str | None, *, with_derived: bool
) -> Selection:
    given = [
        (by, value.strip())
        for by, value in ((By.SUBJECT, subject), (By.SOURCE, source), (By.SESSION, session))
        if value is not None
    ]
    if len(given) > 1 or (not given and tenant is None):
        found = " and ".join(f"--{by}" for by, _ in given) or "none of them"
        expected = "expected one of --subject, --source and --session, or --tenant"
        raise CommonplaceError(f"{expected}, got {found}")
    if not given:
        return whole_tenant(str(tenant))
    by, value = given[0]
    if not value:
        raise InvalidInputError(str(by), "a text", value)
    return Selection(by=by, value=value, tenant=tenant, with_derived=with_derived)


@commands(app)("erase")
async def erase_memories(
    *,
    subject: Annotated[
        str | None, typer.Option(help="Words, such as a name; case and spacing do not matter.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="The butler or app that the memories come from.")] = None,
    session: Annotated[str | None, typer.Option(help="The id of a session or conversation.")] = None,
    tenant: Annotated[
        str | None,
        typer.Option(help="Erase only in this tenant of knowledge memory; alone, erase the whole tenant."),
    ] = None,
    keep_derived: Annotated[
        bool, typer.Option("--keep-derived", help="Keep memories that were derived from erased ones.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be erased without erasing anything.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without asking for confirmation.")] = False,
    as_json: JsonOption = False,
) -> Answer:
    """Delete permanently all memories about a subject, or from a source, a session or a tenant.

    The command shows what it found and asks for confirmation. After the deletion, it searches all tables and files of
    the home for the erased texts and prints where they remain, such as in backups. Erasing cannot be undone. If the
    home syncs, the other devices erase them too: see `commonplace sync status`.
    """
    configured = settings()
    selection = _selection(subject, source, session, tenant, with_derived=not keep_derived)
    foreseen = await preview(configured, selection)
    document = {
        "erased": False,
        "parts": foreseen.parts,
        "warnings": foreseen.warnings,
        "questions": foreseen.questions,
    }
    nothing = "" if foreseen.parts else f"No memory matches the {selection.by} {quoted(selection.value)}."
    shown = Answer(document, "\n".join([nothing, *_asides(foreseen)]) if nothing else _foretell(foreseen))
    if dry_run or ((as_json or nothing) and not yes):
        return shown
    if not yes:
        typer.echo(shown.text)
        if not await confirmed("Erase these memories permanently?"):
            return Answer(None, "No memory was erased.")
    receipt = await erase_everywhere(configured, selection)
    return Answer({"erased": not nothing, "receipt": receipt}, _describe(receipt, nothing or "Erased:"))
