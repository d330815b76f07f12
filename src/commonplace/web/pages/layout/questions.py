"""Confirmation dialogs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse

from commonplace.web.pages.layout.rendering import link, page_above, render_dialog


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that the operator confirms before a change.

    Attributes:
        title: The question.
        texts: The effects of the change, in sentences.
        button: The text of the confirming button.
        back: The page that Cancel returns to; by default the page above the dialog's address.
        quote: The text of the memory.
        tick: The name and label of an optional checkbox.
        is_dangerous: Whether the button is red.
    """

    title: str
    texts: Sequence[str]
    button: str
    back: str = ""
    quote: str = ""
    tick: tuple[str, str] | None = None
    is_dangerous: bool = True


def ask(request: Request, question: Question, *, error: str = "") -> HTMLResponse:
    """Return the dialog of a question, with the error if the change failed; its form posts to the same address."""
    return render_dialog(
        request,
        "ask.html",
        question=question,
        url=link(request.url.path, **request.query_params),
        back=question.back or page_above(request),
        error=error,
    )
