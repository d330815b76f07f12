"""The APIs of Anthropic (Messages), OpenAI (chat completions, responses) and Gemini, spoken by a server on loopback.

It answers from a script, one step a request, and records what it was asked. Streams are server-sent events as
the claude CLI wants them. Ollama's endpoint speaks the second of the two. It runs in threads of its own, so that
tests that block (a command as a subprocess) and tests on an event loop use it alike.
"""

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from support.deadlines import DEADLINE_S

INPUT_TOKENS = 12
OUTPUT_TOKENS = 5
"""What every answer says that it used."""

_ANTHROPIC_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The whole body, to look for what the model was told."""
        return json.dumps(self.body, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Says:
    """Answers with text; ``stop`` is Anthropic's word for why it ended."""

    text: str
    stop: str = "end_turn"


@dataclass(frozen=True, slots=True)
class Decides:
    """Answers with a value: by the tool that the request forces, where it does, else as JSON text."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Calls:
    """Answers with a call of a tool that the request offers; in OpenAI's responses, ``NAMESPACE.TOOL``."""

    tool: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Waits:
    """Answers with text or a call when an event is set."""

    until: threading.Event
    answer: str | Calls


@dataclass(frozen=True, slots=True, kw_only=True)
class Fails:
    """Answers with an error of the API."""

    status: int
    retry_after_s: float | None = None
    message: str = "scripted failure"


@dataclass(frozen=True, slots=True)
class Server:
    """Answers with a value like a server of OpenAI's protocol that supports less than OpenAI's.

    Args:
        value: The answer of its model, once it has seen the form; a model that has not seen it writes prose.
        refuses: Errors by a parameter of the request: the status and the message.
        ignores: Parameters that it accepts and does not use.
    """

    value: dict[str, Any]
    refuses: Mapping[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])
    ignores: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Hangs:
    """Takes the request and never answers."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Resets the connection; ends it after the first bytes of an answer if ``midway``.

    A reset may discard bytes that the client has not read yet: then it would come midway for some clients only.
    """

    midway: bool = False


@dataclass(frozen=True, slots=True)
class Garbles:
    """Answers 200 with a body that is none of the API's."""

    body: str = "<html>It works!</html>"
    content_type: str = "text/html"


Step = Says | Waits | Decides | Calls | Server | Fails | Hangs | Cuts | Garbles


@dataclass(slots=True)
class _Script:
    steps: list[Step] = field(default_factory=list[Step])
    asked: list[Asked] = field(default_factory=list[Asked])
    lock: threading.Lock = field(default_factory=threading.Lock)
    came: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    def next(self, request: Asked) -> Step:
        """Return the next step; the last one holds for every request after it."""
        with self.lock:
            self.asked.append(request)
            self.came.set()
            if not self.steps:
                return Fails(status=400, message="the script has no step")
            return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


class ModelApi:
    """The server, inside ``with``.

    Args:
        steps: How it answers, in order; the last step is repeated.
    """

    def __init__(self, *steps: Step) -> None:
        self._script = _Script(steps=list(steps))
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.script = self._script
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._script.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base URL without a path, as ``ANTHROPIC_BASE_URL`` and ``OLLAMA_HOST`` want it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def asked(self) -> list[Asked]:
        """The requests for an answer so far, in order; not those that count tokens."""
        return list(self._script.asked)

    def wait_until_asked(self) -> None:
        """Block until the first request for an answer has come."""
        assert self._script.came.wait(DEADLINE_S), "nobody asked"

    def script(self, *steps: Step) -> None:
        """Answer so from now on."""
        with self._script.lock:
            self._script.steps = list(steps)


class _Server(ThreadingHTTPServer):
    script: _Script

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing when a client has gone: those that time out do."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Keep standard error for the tests."""

    def do_HEAD(self) -> None:
        """Answer the claude CLI, which looks whether anybody is there."""
        self._send(200, b"")

    def do_POST(self) -> None:
        """Answer a request for tokens to be counted, or by the next step of the script."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._send_json(200, {"input_tokens": INPUT_TOKENS})
            return
        request = Asked(path=path, headers={k.lower(): v for k, v in self.headers.items()}, body=body)
        match self.server.script.next(request):
            case Hangs():
                self.server.script.stopped.wait()
                self.close_connection = True
            case Waits(until=event, answer=answer):
                assert event.wait(DEADLINE_S), "the event was never set"
                self._answer(Says(answer) if isinstance(answer, str) else answer, request)
            case Cuts(midway=midway):
                self._cut(midway=midway)
            case Garbles(body=text, content_type=content_type):
                self._send(200, text.encode(), content_type)
            case Fails() as failure:
                self._fail(failure, anthropic=_is_anthropic(request))
            case Server() as server:
                self._serve(server, request)
            case step:
                self._answer(step, request)

    def _answer(self, step: Says | Decides | Calls, request: Asked) -> None:
        if _is_gemini(request):
            answer = _generated(step, request)
            if ":stream" in request.path:
                self._send(200, f"data: {json.dumps(answer)}\r\n\r\n".encode(), "text/event-stream")
            else:
                self._send_json(200, answer)
        elif request.path.endswith("/responses"):
            self._send(200, b"".join(_response_events(step, request)), "text/event-stream")
        elif not _is_anthropic(request):
            assert not isinstance(step, Calls), "chat completions call no tools of their own accord here"
            self._send_json(200, _chat_completion(step, request))
        elif request.body.get("stream"):
            events = b"".join(_events(_message(step, request)))
            self._send(200, events, "text/event-stream")
        else:
            self._send_json(200, _message(step, request))

    def _serve(self, server: Server, request: Asked) -> None:
        for parameter, (status, message) in server.refuses.items():
            if parameter in request.body:
                self._fail(Fails(status=status, message=message), anthropic=False)
                return
        body = {name: value for name, value in request.body.items() if name not in server.ignores}
        seen = replace(request, body=body)
        shown = all(name in seen.text for name in server.value)
        step = Decides(server.value) if shown else Says("Which decision do you mean?")
        self._send_json(200, _chat_completion(step, seen))

    def _fail(self, failure: Fails, *, anthropic: bool) -> None:
        kind = _ANTHROPIC_ERRORS.get(failure.status, "api_error")
        error: dict[str, Any] = {"type": kind, "message": failure.message}
        body = (
            {"type": "error", "error": error}
            if anthropic
            else {"error": error | {"param": None, "code": None}}
        )
        wait = {} if failure.retry_after_s is None else {"retry-after": f"{failure.retry_after_s:g}"}
        self._send_json(failure.status, body, **wait)

    def _cut(self, *, midway: bool) -> None:
        if midway:
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"
            )
            self.wfile.flush()
        else:
            # Closing with a linger of zero seconds sends a reset in place of an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        self.close_connection = True

    def _send_json(self, status: int, body: dict[str, Any], **headers: str) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", **headers)

    def _send(self, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _is_anthropic(request: Asked) -> bool:
    return request.path.endswith("/messages")


def _is_gemini(request: Asked) -> bool:
    return request.path.endswith((":generateContent", ":streamGenerateContent"))


def _forced_tool(request: Asked) -> str | None:
    """Return the tool that the model must call, or ``None`` where it may answer with text."""
    choice = request.body.get("tool_choice")
    forced = choice == "required" or (
        isinstance(choice, dict) and choice["type"] in {"any", "tool", "function"}
    )
    if not forced:
        return None
    tool = request.body["tools"][0]
    return str(tool["name"] if _is_anthropic(request) else tool["function"]["name"])


def _message(step: Says | Decides | Calls, request: Asked) -> dict[str, Any]:
    tool = _forced_tool(request) if isinstance(step, Decides) else None
    if isinstance(step, Calls):
        tool = step.tool
    if not isinstance(step, Says) and tool:
        block: dict[str, Any] = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": step.value}
        stop = "tool_use"
    else:
        block = {"type": "text", "text": step.text if isinstance(step, Says) else json.dumps(step.value)}
        stop = step.stop if isinstance(step, Says) else "end_turn"
    return {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS},
    }


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    """Yield a message as the server-sent events of a stream."""
    for event in _stream(message):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _stream(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty = block | {"text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def _response_events(step: Says | Decides | Calls, request: Asked) -> Iterator[bytes]:
    """Yield an answer of OpenAI's responses as server-sent events."""
    item: dict[str, Any] = {"id": f"msg_{uuid4().hex}", "status": "completed"}
    if isinstance(step, Calls):
        namespace, _, name = step.tool.rpartition(".")
        call = {
            "type": "function_call",
            "call_id": f"call_{uuid4().hex}",
            "name": name,
            "namespace": namespace,
        }
        item |= call | {"arguments": json.dumps(step.value)}
    else:
        text = step.text if isinstance(step, Says) else json.dumps(step.value)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item |= {"type": "message", "role": "assistant", "content": content}
    usage = {
        "input_tokens": INPUT_TOKENS,
        "output_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    done = {"id": "resp_1", "object": "response", "status": "completed", "model": request.body["model"]}
    for event in (
        {"type": "response.created", "response": done | {"output": [], "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done | {"output": [item], "usage": usage}},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _generated(step: Says | Decides | Calls, request: Asked) -> dict[str, Any]:
    """Return an answer of Gemini's API."""
    part: dict[str, Any] = {"text": step.text if isinstance(step, Says) else json.dumps(step.value)}
    if isinstance(step, Calls):
        part = {"functionCall": {"name": step.tool, "args": step.value}}
    calling = request.body.get("toolConfig", {}).get("functionCallingConfig", {})
    if isinstance(step, Decides) and calling.get("mode") == "ANY":
        declared = request.body["tools"][0]["functionDeclarations"][0]
        part = {"functionCall": {"name": declared["name"], "args": step.value}}
    cut = isinstance(step, Says) and step.stop == "max_tokens"
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [part]},
                "finishReason": "MAX_TOKENS" if cut else "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
        "modelVersion": request.path.rpartition("/")[2].partition(":")[0],
        "responseId": "response-1",
    }


def _chat_completion(step: Says | Decides, request: Asked) -> dict[str, Any]:
    tool = _forced_tool(request) if isinstance(step, Decides) else None
    answer: dict[str, Any] = {"role": "assistant", "content": None}
    stop = "stop"
    if isinstance(step, Says):
        answer["content"] = step.text
        stop = "length" if step.stop == "max_tokens" else "stop"
    elif tool:
        call = {"name": tool, "arguments": json.dumps(step.value)}
        answer["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
        stop = "tool_calls"
    else:
        answer["content"] = json.dumps(step.value)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_772_000_000,
        "model": request.body["model"],
        "choices": [{"index": 0, "message": answer, "finish_reason": stop, "logprobs": None}],
        "usage": {
            "prompt_tokens": INPUT_TOKENS,
            "completion_tokens": OUTPUT_TOKENS,
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    }
