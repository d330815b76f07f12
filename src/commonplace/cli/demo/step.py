"""How a step of the tour begins."""

from rich.console import Console


def step(out: Console, number: int, title: str, text: str) -> None:
    """Print a step's number and title, and what it is about."""
    out.print()
    out.rule(f"[bold]{number}. {title}[/]", align="left")
    out.print(text)
