"""Changes of apps by an operator: register, uninstall, import, delete, purge (APP-09, APP-10, APP-16)."""

import json
from typing import Annotated, Final, cast

from fastapi import Depends, File, Form, Request, UploadFile
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel

from commonplace.apps import DigestOutcome
from commonplace.core.errors import InvalidInputError
from commonplace.core.text import plural
from commonplace.web.http.access import OpenMemories, installation_admin, installation_writer
from commonplace.web.http.app_parameters import AppId
from commonplace.web.pages.apps.apps import PATH
from commonplace.web.pages.layout.errors import message_of, pages
from commonplace.web.pages.layout.forms import Text
from commonplace.web.pages.layout.questions import Question, ask
from commonplace.web.pages.layout.rendering import done, events, render_dialog, shown_page

CHANGED: Final = "apps-changed"
"""The event by which the pages of app memory refresh themselves."""
PURGE: Final = "purge"
OUTCOMES: Final = {
    DigestOutcome.CREATED: "The conversation has a digest now",
    DigestOutcome.NOTHING: "The conversation has no content worth keeping",
    DigestOutcome.REFUSED: "The digest looks like a secret and is not stored",
    DigestOutcome.SKIPPED: "The digest failed again",
    DigestOutcome.DEFERRED: "The digest waits",
    DigestOutcome.REPEATED: "Another process has made the digest",
    DigestOutcome.DROPPED: "The digest was dropped",
}
"""The messages about the outcome of a retried digest."""


router = pages(PATH, installation_writer)
ADMINISTERING: Final = [Depends(installation_admin)]


class AppForm(BaseModel):
    """The values of the form for a new app."""

    app_id: str = ""
    name: str = ""


# No app id begins with a hyphen, so this path cannot be the page of an app.
@router.get("/-/new", dependencies=ADMINISTERING)
async def new_form(request: Request) -> HTMLResponse:
    """Show the form for a new app."""
    return render_dialog(request, "apps/new.html", values=AppForm(), errors={})


@router.post("", dependencies=ADMINISTERING)
async def register(request: Request, memories: OpenMemories, given: Annotated[AppForm, Form()]) -> Response:
    """Register, rename or reinstall an app, or show the form again with the error."""
    try:
        app = await memories.apps.registry.register(given.app_id.strip(), name=given.name.strip() or None)
    except InvalidInputError as error:
        errors = {error.field: message_of(error)}
        return render_dialog(request, "apps/new.html", values=given, errors=errors)
    return done(request, f"{app.name}: {app.outcome}.", location=PATH, changed=CHANGED)


@router.get("/{appId}/uninstall", dependencies=ADMINISTERING)
async def uninstall_form(request: Request, memories: OpenMemories, app_id: AppId) -> HTMLResponse:
    """Ask before an app is uninstalled, and whether to delete its memories."""
    app = await memories.apps.registry.get(app_id)
    count = await memories.apps.count(app_id)
    kept = f"{plural(count, 'digest stays', 'digests stay')} until you purge the app. You can install the app again."
    question = Question(
        title=f"Uninstall {app.name}?",
        texts=("New conversations of this app are refused.", kept),
        button="Uninstall",
        tick=(PURGE, f"Also delete {plural(count, 'digest')} and all conversations permanently"),
    )
    return ask(request, question)


@router.post("/-/digests/retry")
async def retry(request: Request, memories: OpenMemories, conversation_id: Text) -> Response:
    """Retry the failed digest of a conversation, and show the outcome."""
    (receipt,) = await memories.apps.digests.retry(conversation_id)
    notice = ": ".join(filter(None, (OUTCOMES[receipt.outcome], receipt.reason.rstrip(".")))) + "."
    return done(request, notice, location=shown_page(request) or PATH, changed=CHANGED)


@router.post("/{appId}/uninstall", dependencies=ADMINISTERING)
async def uninstall(request: Request, memories: OpenMemories, app_id: AppId, purge: Text = "") -> Response:
    """Uninstall an app, and delete its memories if the operator chose to."""
    receipt = await memories.apps.registry.uninstall_app(app_id, purge_memories=bool(purge))
    kept = f"{plural(receipt.retained, 'digest')} kept, {receipt.purged:,} deleted."
    return done(request, f"{app_id} was uninstalled: {kept}", location=PATH, changed=CHANGED)


@router.get("/{appId}/purge", dependencies=ADMINISTERING)
async def purge_form(request: Request, memories: OpenMemories, app_id: AppId) -> HTMLResponse:
    """Ask before all memories of an app are deleted."""
    app = await memories.apps.registry.get(app_id)
    count = await memories.apps.count(app_id)
    question = Question(
        title=f"Delete {'the one digest' if count == 1 else f'all {count:,} digests'} of {app.name}?",
        texts=(
            "This cannot be undone. The text is also removed from the history, and waiting digests are dropped.",
            "The app stays. Export the digests first to keep a copy.",
        ),
        button=f"Delete {plural(count, 'digest')}",
    )
    return ask(request, question)


@router.post("/{appId}/purge", dependencies=ADMINISTERING)
async def purge(request: Request, memories: OpenMemories, app_id: AppId) -> Response:
    """Delete every memory of an app."""
    await memories.apps.registry.get(app_id)
    purged = await memories.apps.purge(app_id)
    notice = f"{plural(purged.deleted, 'digest')} deleted."
    return done(request, notice, changed=CHANGED)


@router.get("/{appId}/import", dependencies=ADMINISTERING)
async def import_form(request: Request, memories: OpenMemories, app_id: AppId) -> HTMLResponse:
    """Show the form for an import."""
    app = await memories.apps.registry.get(app_id)
    return render_dialog(request, "apps/import.html", app=app, error="")


@router.post("/{appId}/import", dependencies=ADMINISTERING)
async def import_file(
    request: Request,
    memories: OpenMemories,
    app_id: AppId,
    file: Annotated[UploadFile | None, File()] = None,
) -> Response:
    """Import an exported file, and list refused and shortened memories."""
    app = await memories.apps.registry.get(app_id)
    try:
        content = b"" if file is None else await file.read()
        receipt = await memories.apps.import_document(app_id, _document(content))
    except InvalidInputError as error:
        return render_dialog(request, "apps/import.html", app=app, error=str(error))
    if receipt.refused or receipt.shortened:
        answer = render_dialog(request, "apps/imported.html", app=app, receipt=receipt)
        answer.headers.update(events({CHANGED: None}))
        return answer
    notice = f"{plural(len(receipt.added), 'digest')} added, {receipt.known:,} already existed."
    return done(request, notice, changed=CHANGED)


def _document(content: bytes) -> dict[str, object]:
    """Return a file as JSON.

    Raises:
        InvalidInputError: The file is not a JSON object.
    """
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidInputError("file", "a JSON file of exported digests", content[:40]) from None
    if not isinstance(document, dict):
        raise InvalidInputError("file", "a JSON object of exported digests", type(document).__name__)
    return cast("dict[str, object]", document)
