"""One word for each kind of memory at every door: help, routes, tools and pages have no second word for it."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
from fastapi import FastAPI

from commonplace.cli.main import Commands
from commonplace.core.docstrings import documented
from commonplace.mcp.apps.tools import TOOLS as APP_TOOLS
from commonplace.mcp.knowledge.server import TOOLS as KNOWLEDGE_TOOLS
from commonplace.web import pages
from commonplace.web.rest import documentation
from commonplace.web.service import _router

TEMPLATES: Final = Path(pages.__file__).parent / "templates"

WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    "operational memory": re.compile(r"\b(?:memory|memories|facts?|notes?|digests?)\b", re.IGNORECASE),
    "app memory": re.compile(r"\b(?:memory|memories|facts?|notes?|lessons?)\b", re.IGNORECASE),
    "workspace memory": re.compile(
        r"\b(?:memory|memories|facts?|lessons?|digests?|memory record)\b", re.IGNORECASE
    ),
    "knowledge memory": re.compile(r"\b(?:lessons?|notes?|digests?|memory records?)\b", re.IGNORECASE),
}
"""The words that do not fit a memory: those of other memories, and where it holds one kind alone, the general word."""

GROUPS: Final = {"ops": "operational memory", "apps": "app memory", "workspace": "workspace memory"}
FOLDERS: Final = {
    "memories": "operational memory",
    "apps": "app memory",
    "workspace": "workspace memory",
    "knowledge": "knowledge memory",
}
NAMES: Final = re.compile(
    r"(?i)\badd memory\b|\b(?:operational|app|workspace|knowledge) memory\b"
    r"|`[^`]*`|\S*[/_]\S*|--\S+|\[MEMORY\S*|[a-z]+Memor\w+"
)
"""The names of the four memories, code, paths, options and markers; and the button that the specification names."""


@cache
def document() -> dict[str, Any]:
    """Return the document of the REST API."""
    app = FastAPI()
    app.router.routes.extend(_router().routes)
    return documentation.describe(app)


def routes() -> Iterator[tuple[str, str, str]]:
    """Yield the memory, the name and the texts of each route."""
    for path in document()["paths"].values():
        for operation in path.values():
            texts = [
                operation["summary"],
                operation.get("description", ""),
                *(each.get("description", "") for each in operation.get("parameters", ())),
            ]
            yield operation["tags"][0], operation["operationId"], " ".join(texts)


def tools() -> Iterator[tuple[str, str, str]]:
    """Yield the memory, the name and the texts of each tool."""
    for memory, specs in (("app memory", APP_TOOLS), ("knowledge memory", KNOWLEDGE_TOOLS)):
        for spec in specs:
            text, parameters = documented(spec.run)
            yield memory, spec.run.__name__, " ".join([spec.title, text, *parameters.values()])


def commands() -> Iterator[tuple[str, str, str]]:
    """Yield the memory, the name and the help of each command of a memory's group."""
    for group, memory in GROUPS.items():
        for name, command in typer.main.get_command(Commands.entries[group].load()).commands.items():  # type: ignore[attr-defined]
            options = (getattr(each, "help", None) or "" for each in command.params)
            yield memory, f"{group} {name}", " ".join([command.help or "", *options])


def shown_texts() -> Iterator[tuple[str, str, str]]:
    """Yield the memory, the file and the text of each page, without its markup."""
    for folder, memory in FOLDERS.items():
        for file in sorted((TEMPLATES / folder).rglob("*.html")):
            markup = file.read_text("utf-8")
            text = re.sub(r"(?s)\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<code>.*?</code>|<[^>]*>", " ", markup)
            yield memory, f"{folder}/{file.name}", text


@pytest.mark.requirement("ONE-01.4")
@pytest.mark.parametrize("door", [routes, tools, commands, shown_texts], ids=lambda door: door.__name__)
def test_each_kind_of_memory_has_one_word(door: Any) -> None:  # noqa: ANN401 - a generator function
    """And no door uses the word of another memory for it."""
    walked, others = 0, list[tuple[str, str]]()
    for memory, name, text in door():
        if memory in WORDS:
            walked += 1
            others += [(name, word[0]) for word in WORDS[memory].finditer(NAMES.sub(" ", text))]
    assert walked >= 10
    assert others == []
