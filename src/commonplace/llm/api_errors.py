"""Translation of pydantic-ai's errors into errors of this package."""

from http import HTTPStatus
from typing import cast

import pydantic_ai.exceptions as failures

from commonplace.core.errors import (
    ModelAccessError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelUnavailableError,
)


def translated(error: failures.AgentRunError, *, name: str, address: str) -> ModelError:
    """Return the error of this package for an error of a model at an address."""
    message = _message(error, name, address)
    match error:
        case (
            failures.ModelRateLimitError()
            | failures.ModelUnavailableError()
            | failures.ModelServerError()
            | failures.ModelConnectionError()
        ):
            return ModelUnavailableError(message, retry_after_s=error.retry_after)
        case failures.ModelHTTPError(status_code=status) if type(error) is failures.ModelHTTPError:
            return _by_status(status)(message)
        case failures.ModelHTTPError(status_code=403):
            return ModelRefusedError(message)  # The key lacks a permission, or a filter blocks the request.
        case (
            failures.ModelAuthenticationError()
            | failures.ModelNotFoundError()
            | failures.ModelQuotaExceededError()
        ):
            return ModelAccessError(message)
        case failures.ModelHTTPError() | failures.ModelRequestRejectedError():
            return ModelRefusedError(message)
        case _:
            return ModelOutputError(message)


def _by_status(status: int) -> type[ModelError]:
    """Return the error for a status that the client has not classified."""
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ModelUnavailableError
    return ModelAccessError if status in (401, 402, 404) else ModelRefusedError


def body_of(error: failures.ModelHTTPError) -> str:
    """Return the body of an HTTP error as text."""
    return str(error.body or error.message)


def _message(error: failures.AgentRunError, name: str, address: str) -> str:
    match error:
        case failures.ModelHTTPError():
            return f"{name} answered {error.status_code}: {_detail(error)}"
        case failures.ModelConnectionError():
            reason = error.__cause__ and error.__cause__.__cause__
            return f"{name} cannot be reached at {address}: {reason or error.message}"
        case _:
            return f"{name}: {error.message}"


def _detail(error: failures.ModelHTTPError) -> str:
    """Return the server's error message from the body."""
    body = _mapping(error.body)
    return str((_mapping(body.get("error")) or body).get("message") or error.body or error.message)


def _mapping(body: object) -> dict[str, object]:
    return cast("dict[str, object]", body) if isinstance(body, dict) else {}
