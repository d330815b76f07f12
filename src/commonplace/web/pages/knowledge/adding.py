"""Forms that store a new fact or rule."""

from typing import Annotated, Final

from fastapi import Form, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from commonplace.core.errors import InvalidInputError
from commonplace.core.text import collapse_whitespace, trim_to
from commonplace.knowledge import GLOBAL_SCOPE, FactReceipt, Permanence
from commonplace.services.catalog.rule_remarks import rule_note
from commonplace.web.http.access import KnowledgeOfCaller, writer
from commonplace.web.pages.knowledge import facts, rules
from commonplace.web.pages.knowledge.listing import CHANGED, project_names, scope_of
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.rendering import done, render_dialog

FIELDS: Final = frozenset({"subject", "predicate", "content", "scope", "tags", "permanence"})

router = pages("", writer)


class RuleForm(BaseModel):
    """The values of the form for a new rule."""

    content: str = ""
    scope: str = GLOBAL_SCOPE
    tags: str = ""

    @property
    def tag_list(self) -> list[str]:
        """The tags, which the form separates by commas."""
        return [tag.strip() for tag in self.tags.split(",") if tag.strip()]


class FactForm(RuleForm):
    """The values of the form for a new fact."""

    subject: str = ""
    predicate: str = ""
    permanence: str = Permanence.STANDARD


@router.get(f"{facts.PATH}/new")
async def fact_form(request: Request, knowledge: KnowledgeOfCaller) -> HTMLResponse:
    """Show the form for a new fact."""
    return _form(request, knowledge, FactForm())


@router.post(facts.PATH)
async def add_fact(
    request: Request, knowledge: KnowledgeOfCaller, given: Annotated[FactForm, Form()]
) -> Response:
    """Store a fact, or show the form again with the error."""
    try:
        receipt = await knowledge.store_fact(
            subject=given.subject,
            predicate=given.predicate,
            content=given.content,
            permanence=given.permanence,
            scope=scope_of(given.scope, project_names(request, knowledge)),
            tags=given.tag_list,
        )
    except InvalidInputError as error:
        return _form(request, knowledge, given, error)
    return done(request, _notice(receipt), location=facts.PATH, changed=CHANGED)


def _notice(receipt: FactReceipt) -> str:
    if receipt.current_text is not None:
        return f"The fact was kept as history. This fact stays current: {_short(receipt.current_text)}"
    if receipt.superseded_text is not None:
        both = "" if receipt.review_id is None else ". Decide under Reviews whether both hold"
        until = receipt.superseded_until
        replaced = "It replaced" if until is None else f"Until {until:%Y-%m-%d}, this fact holds"
        return f"The fact was stored. {replaced}: {_short(receipt.superseded_text)}{both}"
    if receipt.opposed_ids:
        return "The fact was stored. It may contradict another fact. Decide under Reviews"
    if receipt.near is not None:
        key = _short(f"{receipt.near.subject} {receipt.near.predicate}")
        return f"The fact was stored. Another current fact has nearly this key: {key}. Decide under Reviews"
    return "The fact was stored."


def _short(text: str) -> str:
    return trim_to(collapse_whitespace(text), 100)


@router.get(f"{rules.PATH}/new")
async def rule_form(request: Request, knowledge: KnowledgeOfCaller) -> HTMLResponse:
    """Show the form for a new rule."""
    return _form(request, knowledge, RuleForm())


@router.post(rules.PATH)
async def add_rule(
    request: Request, knowledge: KnowledgeOfCaller, given: Annotated[RuleForm, Form()]
) -> Response:
    """Store a rule, or show the form again with the error."""
    try:
        receipt = await knowledge.store_rule(
            content=given.content,
            scope=scope_of(given.scope, project_names(request, knowledge)),
            tags=given.tag_list,
        )
    except InvalidInputError as error:
        return _form(request, knowledge, given, error)
    outcome = "" if receipt.repeated else "The rule was stored. "
    return done(request, f"{outcome}{rule_note(receipt)}".strip(), location=rules.PATH, changed=CHANGED)


def _form(
    request: Request, knowledge: KnowledgeOfCaller, values: RuleForm, error: InvalidInputError | None = None
) -> HTMLResponse:
    """Return the form with its error, shown at its field or else at the content."""
    field = error.field if error and error.field in FIELDS else "content"
    kind, back = ("fact", facts.PATH) if isinstance(values, FactForm) else ("rule", rules.PATH)
    return render_dialog(
        request,
        "knowledge/new.html",
        kind=kind,
        back=back,
        values=values,
        errors={field: message_of(error)} if error else {},
        permanences=list(Permanence),
        projects=project_names(request, knowledge),
    )
