"""Documentation of the API: the OpenAPI document, and a page made from it.

FastAPI's own page loads scripts from a content delivery network, which needs internet access and reveals the visit.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse
from markupsafe import Markup, escape

from commonplace.web.http.idempotency import HEADER, MAX_KEY_CHARS
from commonplace.web.http.plain_pages import plain_page
from commonplace.web.http.problems import ANSWER_LOST, KEY_REUSED, KINDS, MEDIA_TYPE, RUNNING
from commonplace.web.rest.api import PARAMETERS

JSON: Final = "application/json"
FIRST_ERROR: Final = "400"
METHODS: Final = ("get", "post", "put", "patch", "delete")
POLICY: Final = {"Content-Security-Policy": "default-src 'none'; style-src 'self'"}
BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "a token from `commonplace token create`; not needed on loopback without a login",
}
IDEMPOTENCY_KEY: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARS},
    "description": "a key that you choose for this request: for a day, a repetition with the same key changes nothing "
    "and gets the same response",
}
KEY_CONFLICT: Final[dict[str, Any]] = {
    "description": ", or: ".join(kind.title for kind in (RUNNING, KEY_REUSED, ANSWER_LOST)),
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}

_CODE: Final = re.compile(r"`([^`]+)`")


def _with_code(text: str) -> Markup:
    """Return a text as HTML, with text between backticks marked as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an application, with problem details as the media type of errors."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
        )
        for path, method, operation in _operations(document):
            if method == "post" and path.startswith("/api/"):
                operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
                _describe_key_conflict(operation["responses"])
            _describe_parameters(operation, PARAMETERS.get(operation["operationId"], {}))
            answers = dict(sorted(operation["responses"].items()))
            for status, answer in answers.items():
                if status >= FIRST_ERROR and JSON in answer["content"]:
                    answer["content"][MEDIA_TYPE] = answer["content"].pop(JSON)
            operation["responses"] = answers
        document["components"]["securitySchemes"] = {"token": BEARER}
        document["security"] = [{"token": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema


def _describe_key_conflict(answers: dict[str, Any]) -> None:
    """Describe the conflicts of an idempotency key, after those of the route itself."""
    status = str(RUNNING.status.value)
    of_route = answers.get(status)
    if of_route is None:
        answers[status] = KEY_CONFLICT
    else:
        of_route["description"] += f", or: {KEY_CONFLICT['description']}"


def _describe_parameters(operation: dict[str, Any], descriptions: dict[str, str]) -> None:
    """Describe the parameters and the body of an operation."""
    parameters: dict[str, dict[str, Any]] = {each["name"]: each for each in operation.get("parameters", ())}
    for name, description in descriptions.items():
        if name == "body":
            schema = operation["requestBody"]["content"][JSON]["schema"]
        else:
            parameters[name]["description"], schema = description, parameters[name]["schema"]
        schema["description"] = description


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the path, method and description of each operation."""
    for path, item in cast("dict[str, dict[str, Any]]", document["paths"]).items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _operations_by_tag(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the operations of a document by tag, in the order of the document, with their methods and paths."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, method, operation in _operations(document):
        place = {"method": method.upper(), "path": path, "parameters": list(_parameters(operation))}
        found.setdefault(operation["tags"][0], []).append(operation | place)
    return found


def _parameters(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of an operation, with its body as one more."""
    yield from operation.get("parameters", ())
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"][JSON]["schema"]
        yield {"name": "body", "in": JSON, "required": True, "description": schema["description"]}


router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def documentation(request: Request) -> HTMLResponse:
    """Show the documentation of the API."""
    document = describe(request.app)
    page = plain_page(
        "documentation.html",
        info=document["info"],
        tags=_operations_by_tag(document),
        kinds=KINDS,
        with_code=_with_code,
    )
    page.headers.update(POLICY)
    return page
