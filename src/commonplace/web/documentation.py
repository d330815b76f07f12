"""The documentation of the API: the OpenAPI document, and a page that is made of it and needs no network.

FastAPI's own page loads its scripts from a content delivery network, which a machine without internet cannot reach and
a memory should not tell about.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from commonplace.web.problems import KINDS, MEDIA_TYPE

JSON: Final = "application/json"
FIRST_ERROR: Final = "400"
METHODS: Final = ("get", "post", "put", "patch", "delete")
POLICY: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'self'"}
BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token that `commonplace token create` made; on loopback without a login none is needed",
}

_CODE: Final = re.compile(r"`([^`]+)`")


def _with_code(text: str) -> Markup:
    """Return a text as HTML, with what stands between backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


_TEMPLATES: Final = Environment(
    loader=PackageLoader("commonplace.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the API as the page shows it; ``answers`` are statuses with what they mean."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[dict[str, Any], ...]
    answers: tuple[tuple[str, str], ...]


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application, made once.

    The framework writes the answer of every model as plain JSON; errors are problem details.
    """
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
        )
        for _, _, operation in _operations(document):
            answers = dict(sorted(operation["responses"].items()))
            for status, answer in answers.items():
                if status >= FIRST_ERROR and JSON in answer["content"]:
                    answer["content"][MEDIA_TYPE] = answer["content"].pop(JSON)
            operation["responses"] = answers
        document["components"]["securitySchemes"] = {"token": BEARER}
        document["security"] = [{"token": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and description of each operation."""
    for path, item in cast("dict[str, dict[str, Any]]", document["paths"]).items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def operations_by_tag(document: dict[str, Any]) -> dict[str, list[Operation]]:
    """Return the operations of a document under their headings, in its order."""
    found: dict[str, list[Operation]] = {}
    for path, method, operation in _operations(document):
        found.setdefault(operation["tags"][0], []).append(
            Operation(
                id=operation["operationId"],
                method=method.upper(),
                path=path,
                summary=operation["summary"],
                description=operation["description"],
                parameters=tuple(_parameters(operation)),
                answers=tuple(
                    (code, answer["description"]) for code, answer in operation["responses"].items()
                ),
            )
        )
    return found


def _parameters(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what an operation takes; its body as one more parameter."""
    yield from operation.get("parameters", ())
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"][JSON]["schema"]
        yield {"name": "body", "in": JSON, "required": True, "description": schema["description"]}


router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def documentation(request: Request) -> HTMLResponse:
    """Show the API to a person."""
    document = describe(request.app)
    page = _TEMPLATES.get_template("documentation.html").render(
        info=document["info"], tags=operations_by_tag(document), kinds=KINDS, with_code=_with_code
    )
    return HTMLResponse(page, headers=POLICY)
