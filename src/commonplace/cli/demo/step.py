"""Heading of a step of the tour."""

from rich.console import Console


def step(out: Console, number: int, title: str, text: str) -> None:
    """Print the number, title and introduction of a step."""
    out.print()
    out.rule(f"[bold]{number}. {title}[/]", align="left")
    out.print(text)
