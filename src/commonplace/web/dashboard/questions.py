"""Questions before something is done that cannot be taken back by looking away."""

from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from fastapi.responses import HTMLResponse

from commonplace.web.dashboard.forms import INVALID
from commonplace.web.dashboard.rendering import render_dialog


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an operator is asked before something is done.

    Attributes:
        title: The question.
        texts: What will happen, in sentences.
        url: Where the answer is posted.
        button: What yes is called.
        back: The page to go back to.
        quote: The text that it is about.
        tick: A name and a label of something to tick, where there is a choice.
        is_dangerous: Whether the button warns.
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
    """Answer with a question; with the error, where the answer to it could not be followed."""
    return render_dialog(
        request, "ask.html", http_status=INVALID if error else 200, question=question, error=error
    )
