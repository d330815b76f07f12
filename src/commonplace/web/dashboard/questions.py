"""Confirmation dialogs."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse

from commonplace.web.dashboard.forms import INVALID
from commonplace.web.dashboard.rendering import render_dialog


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that the operator confirms before a change.

    Attributes:
        title: The question.
        texts: The effects of the change, in sentences.
        url: The address of the POST request.
        button: The text of the confirming button.
        back: The page that Cancel returns to.
        quote: The text of the memory.
        tick: The name and label of an optional checkbox.
        is_dangerous: Whether the button is red.
    """

    title: str
    texts: Sequence[str]
    url: str
    button: str
    back: str
    quote: str = ""
    tick: tuple[str, str] | None = None
    is_dangerous: bool = True


def ask(request: Request, question: Question, *, error: str = "") -> HTMLResponse:
    """Return the dialog of a question, with the error if the change failed."""
    return render_dialog(
        request, "ask.html", http_status=INVALID if error else 200, question=question, error=error
    )
