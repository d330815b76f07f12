"""Kinds of errors that the service returns, as problem details. Source: RFC 9457.

A client error names the field, the expected form and the value. The status of a server error says whether a retry may
help: with 503 it may, with 500 it will not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel, Field

from commonplace.core.errors import (
    ClaimLostError,
    ClockError,
    CommonplaceError,
    ConflictError,
    EmbeddedPostgresError,
    EmbeddingError,
    InvalidInputError,
    ModelError,
    NotFoundError,
    SecretRefusedError,
    StorageUnavailableError,
)

MEDIA_TYPE: Final = "application/problem+json"
LOGIN: Final = "/login"
RETRY_AFTER_S: Final = 5
"""Seconds until a retry after an outage; the embedded server recovers from a crash in less time."""

_DIRECTORIES: Final = re.compile(r"(?<![\w:/.])/(?:[^\s/'\"]+/)+")


class Problem(BaseModel):
    """An error of a request."""

    type: str = Field(description="the kind of problem, as the address of its explanation on /docs")
    title: str = Field(description="the kind of problem in words; the same for all problems of one type")
    status: int = Field(description="the HTTP status")
    detail: str = Field(description="the error of this request, in one sentence")
    field: str | None = Field(default=None, description="the parameter or field that is invalid")
    expected: str | None = Field(default=None, description="the form that the field accepts")
    got: str | None = Field(default=None, description="the value of the request, shortened")


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """A kind of problem; ``meaning`` is its explanation in the documentation."""

    name: str
    status: HTTPStatus
    title: str
    meaning: str

    @property
    def type(self) -> str:
        """The URI of the kind: its anchor on the page of the documentation."""
        return f"/docs#{self.name}"

    def problem(self, detail: str) -> Problem:
        """Return a problem of this kind."""
        return Problem(type=self.type, title=self.title, status=self.status, detail=detail)


NOT_FOUND: Final = ProblemKind(
    "not-found", HTTPStatus.NOT_FOUND, "Not found", "The path, or the id in it, does not exist."
)
INVALID_INPUT: Final = ProblemKind(
    "invalid-input",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "Invalid input",
    "A parameter or the body has the wrong form: see `field`, `expected` and `got`. Nothing was written.",
)
STATE_CONFLICT: Final = ProblemKind(
    "state-conflict",
    HTTPStatus.CONFLICT,
    "Conflict with the present state",
    "The present state of the item does not allow the change; `detail` says what the state is. Nothing was written.",
)
SECRET_REFUSED: Final = ProblemKind(
    "secret-refused",
    HTTPStatus.UNPROCESSABLE_ENTITY,
    "Secret refused",
    "The text looks like it contains a secret. Secrets are not stored. Nothing was written.",
)
TOO_LARGE: Final = ProblemKind(
    "too-large",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "Body too large",
    "Nothing was written. Send less in one request.",
)
FOREIGN_HOST: Final = ProblemKind(
    "foreign-host",
    HTTPStatus.MISDIRECTED_REQUEST,
    "Unknown host",
    "The Host header names neither this machine nor an allowed host. A web page elsewhere may be trying to reach this "
    "service under its own name.",
)
UNAUTHENTICATED: Final = ProblemKind(
    "unauthenticated",
    HTTPStatus.UNAUTHORIZED,
    "Authentication required",
    "The request carries no token, or its token is unknown, expired or revoked. Send `Authorization: Bearer cpl_…`. "
    "Create a token with `commonplace token create`.",
)
FORBIDDEN: Final = ProblemKind(
    "forbidden",
    HTTPStatus.FORBIDDEN,
    "Forbidden",
    "The role of the token does not allow this, or the memory belongs to another tenant.",
)
FORGED: Final = ProblemKind(
    "forged",
    HTTPStatus.FORBIDDEN,
    "Request from another site",
    "A browser sent the request, and no current page of this service made it. Nothing was written.",
)
RUNNING: Final = ProblemKind(
    "running",
    HTTPStatus.CONFLICT,
    "Request already running",
    "A request with this `Idempotency-Key` is running, or its process died a moment ago. Send the request again after "
    "the number of seconds in `Retry-After`.",
)
KEY_REUSED: Final = ProblemKind(
    "key-reused",
    HTTPStatus.CONFLICT,
    "Idempotency-Key already used",
    "The `Idempotency-Key` belongs to a request with another path, body or token. Choose a new key for each request. "
    "Nothing was written.",
)
ANSWER_LOST: Final = ProblemKind(
    "answer-lost",
    HTTPStatus.CONFLICT,
    "Answer lost",
    "The request with this `Idempotency-Key` changed the memory, but the service died before it stored the response. "
    "Read the memory; do not send the request again.",
)
TOO_MANY: Final = ProblemKind(
    "too-many",
    HTTPStatus.TOO_MANY_REQUESTS,
    "Too many requests",
    "Wait for the number of seconds in `Retry-After`.",
)
STORAGE_UNAVAILABLE: Final = ProblemKind(
    "storage-unavailable",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "Storage unavailable",
    "The database does not answer or cannot be written. Nothing was written. Try again later.",
)
UNHEALTHY: Final = ProblemKind(
    "unhealthy",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "Service unhealthy",
    "A required part of the service is down; `detail` names it.",
)
MODEL_UNAVAILABLE: Final = ProblemKind(
    "model-unavailable",
    HTTPStatus.SERVICE_UNAVAILABLE,
    "Model unavailable",
    "The embedding model or the language model cannot be used. Run `commonplace doctor` to see why.",
)
FAULT: Final = ProblemKind(
    "fault",
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "Internal error",
    "The service or its database failed. The log of the service has the details. Retrying will not help.",
)
REFUSED: Final = ProblemKind(
    "refused",
    HTTPStatus.BAD_REQUEST,
    "Request refused",
    "The status says why: 400: the request cannot be read; 405: the path does not support the method.",
)
KINDS: Final = tuple(value for value in tuple(globals().values()) if isinstance(value, ProblemKind))


_KINDS_OF_ERRORS: Final[tuple[tuple[tuple[type[CommonplaceError], ...], ProblemKind], ...]] = (
    ((SecretRefusedError,), SECRET_REFUSED),
    ((ConflictError,), STATE_CONFLICT),
    ((InvalidInputError,), INVALID_INPUT),
    ((NotFoundError,), NOT_FOUND),
    ((StorageUnavailableError, EmbeddedPostgresError), STORAGE_UNAVAILABLE),
    ((ClaimLostError,), RUNNING),
    ((ClockError,), UNHEALTHY),
    ((EmbeddingError, ModelError), MODEL_UNAVAILABLE),
)
"""The kind of each error; the first match counts, and other errors are a :data:`FAULT`."""


class ProblemError(Exception):
    """A request that the service refuses with a problem; the detail is one sentence."""

    def __init__(self, kind: ProblemKind, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.headers = headers or {}
        super().__init__(detail)


def problem_of(error: CommonplaceError, *, of_page: bool = False) -> Problem:
    """Return the problem that a client sees for an error of a memory.

    The API spells the names of fields in camel case; the parameters of pages are in snake case.
    """
    kind = next((kind for errors, kind in _KINDS_OF_ERRORS if isinstance(error, errors)), FAULT)
    said = str(error) if kind.status < HTTPStatus.INTERNAL_SERVER_ERROR else _without_directories(str(error))
    if not isinstance(error, InvalidInputError):
        return kind.problem(encodable(said))
    field = error.field if of_page else camel_case(error.field)
    if said.startswith(f"{error.field}:"):
        said = field + said.removeprefix(error.field)
    problem = kind.problem(encodable(said))
    problem.field, problem.got = field, encodable(error.got)
    problem.expected = None if kind is STATE_CONFLICT else error.expected
    return problem


def _without_directories(text: str) -> str:
    """Return the first line of an error without the directories of its paths; the log has the full paths."""
    return _DIRECTORIES.sub("", text.partition("\n")[0])


def camel_case(name: str) -> str:
    """Return the name of a field in camel case, as the API spells it."""
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def encodable(text: str) -> str:
    """Return text that UTF-8 can encode, with lone surrogates escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def may_answer(*kinds: ProblemKind) -> dict[int | str, dict[str, Any]]:
    """Return the errors of a route for its documentation."""
    by_status: dict[int, list[str]] = {}
    for kind in kinds:
        by_status.setdefault(kind.status.value, []).append(kind.title)
    return {
        status: {"model": Problem, "description": ", or: ".join(titles)}
        for status, titles in by_status.items()
    }
