"""Middleware for ``Idempotency-Key``: a REST POST that is sent twice runs once.

A database stores the response together with the change, so that every process of the service has both or neither. A
request that failed and changed nothing may run again. Source: draft-ietf-httpapi-idempotency-key-header-07.
"""

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from commonplace.core.errors import CommonplaceError, InvalidInputError, StorageUnavailableError
from commonplace.knowledge import KeptAnswers
from commonplace.storage.request_claims import KeptAnswer, RequestClaim, RequestConflict
from commonplace.web.http.access import knowledge_of, known_caller, memories
from commonplace.web.http.middleware import HttpMiddleware
from commonplace.web.http.problems import ANSWER_LOST, KEY_REUSED, RUNNING, problem_of
from commonplace.web.http.refusals import answer, on_http_error

HEADER: Final = "Idempotency-Key"
MAX_KEY_CHARS: Final = 255
REPLAYED: Final = "Idempotent-Replayed"
"""The header of a stored response."""

_PROBLEMS: Final = {
    RequestConflict.RUNNING: (RUNNING, "a request with this key is running", {"Retry-After": "1"}),
    RequestConflict.REUSED: (KEY_REUSED, "this key belongs to another request", None),
    RequestConflict.LOST: (
        ANSWER_LOST,
        "the request has changed the memory; read the memory to see the result",
        None,
    ),
}
_KEPT_PREFIX: Final = "/api/"


class Idempotency(HttpMiddleware):
    """Runs each request with an ``Idempotency-Key`` once, and answers repetitions with the stored response."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with the stored response or a problem."""
        if scope["method"] != "POST" or not scope["path"].startswith(_KEPT_PREFIX):
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        key = request.headers.get(HEADER)
        if key is None or known_caller(request) is None:
            await self.app(scope, receive, send)
            return
        try:
            _require_key(key)
            body = await request.body()
            answers = _answers(request)
            found = await answers.claim(key, _fingerprint(request, body))
        except CommonplaceError as error:
            await answer(request, problem_of(error))(scope, receive, send)
            return
        except HTTPException as error:
            await (await on_http_error(request, error))(scope, receive, send)
            return
        if isinstance(found, RequestClaim):
            await self._run(answers, found, scope, _with_body(body, receive), send)
        else:
            await _response(request, found)(scope, receive, send)

    async def _run(
        self, answers: KeptAnswers, claim: RequestClaim, scope: Scope, receive: Receive, send: Send
    ) -> None:
        messages: list[Message] = []

        async def collect(message: Message) -> None:
            messages.append(message)

        try:
            async with _renewed(answers, claim):
                with claim.running():
                    await self.app(scope, receive, collect)
                    await claim.commit(_kept(messages))
        except StorageUnavailableError as error:  # The change cannot be committed.
            await self._fail(answers, claim)
            await answer(Request(scope), problem_of(error))(scope, receive, send)
            return
        except BaseException:
            await self._fail(answers, claim)
            raise
        if messages[0]["status"] < HTTPStatus.BAD_REQUEST or claim.is_applied:
            await answers.keep(claim, _kept(messages))
        else:
            await answers.release(claim)
        for message in messages:
            await send(message)

    async def _fail(self, answers: KeptAnswers, claim: RequestClaim) -> None:
        await claim.roll_back()
        await answers.release(claim)


def _answers(request: Request) -> KeptAnswers:
    """Return the answers of the caller's tenant, in the databases of all memories."""
    opened = memories(request)
    return KeptAnswers(knowledge_of(request).session, (opened.operational.requests, opened.apps.requests))


def _require_key(key: str) -> None:
    if not (0 < len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable()):
        raise InvalidInputError(HEADER, f"1 to {MAX_KEY_CHARS} printable ASCII characters", key)


def _fingerprint(request: Request, body: bytes) -> str:
    """Return a hash of the request and its caller; the same key from another caller is another request."""
    caller = known_caller(request)
    who = (caller.principal.tenant_id, caller.principal.name, caller.principal.role) if caller else ()
    parts = "\0".join([*who, request.url.path, request.url.query, ""])
    return hashlib.sha256(parts.encode() + body).hexdigest()


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return the receive channel of a request whose body has already been read."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return left.pop() if left else await receive()

    return receive_again


def _kept(messages: list[Message]) -> KeptAnswer:
    headers = Headers(raw=messages[0]["headers"])
    body = b"".join(message.get("body", b"") for message in messages[1:])
    return KeptAnswer(
        status=messages[0]["status"],
        media_type=headers.get("content-type", ""),
        location=headers.get("location", ""),
        body=body.decode(),
    )


def _response(connection: HTTPConnection, found: KeptAnswer | RequestConflict) -> Response:
    if isinstance(found, RequestConflict):
        kind, detail, headers = _PROBLEMS[found]
        return answer(connection, kind.problem(detail), headers=headers)
    response = Response(found.body, found.status, {REPLAYED: "true"}, found.media_type or None)
    if found.location:
        response.headers["Location"] = found.location
    return response


@asynccontextmanager
async def _renewed(answers: KeptAnswers, claim: RequestClaim) -> AsyncGenerator[None]:
    """Renew a claim until the end of the block."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(KeptAnswers.lease.total_seconds() / 3)
            await answers.renew(claim)

    renewing = asyncio.create_task(renew(), name="renewing a claim")
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.gather(renewing, return_exceptions=True)
