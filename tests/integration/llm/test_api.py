"""Models behind an API: the real clients against a server that speaks the real wire formats."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Literal

import pytest
from pydantic import BaseModel

from commonplace.core.errors import (
    ModelAccessError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from commonplace.core.settings import Settings
from commonplace.embedding import BackendName, EmbeddingEngine, EmbeddingOptions
from commonplace.llm import open_model
from commonplace.llm.api_backend import ApiBackend, connect
from commonplace.llm.backend import Request
from commonplace.llm.options import ApiKind, ApiOptions
from support.deadlines import DEADLINE_S
from support.model_api import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Cuts,
    Decides,
    Fails,
    Garbles,
    Hangs,
    ModelApi,
    Says,
    Step,
)

ENGINE = EmbeddingEngine(EmbeddingOptions(backend=BackendName.FAKE))
PURPOSE = "test"
MODELS: dict[ApiKind, str] = {
    "anthropic": "claude-haiku-4-5",
    "openai": "gpt-4.1-mini",
    "ollama": "llama3.2:1b",
    "gemini": "gemini-2.5-flash",
}


class Decision(BaseModel):
    """A form with a closed set, a number, and something that may be missing."""

    action: Literal["delete", "edit"]
    target: int
    new_content: str | None = None


@pytest.fixture
def api() -> Iterator[ModelApi]:
    """A server with an empty script."""
    with ModelApi() as server:
        yield server


@pytest.fixture(params=list(MODELS))
def kind(request: pytest.FixtureRequest) -> ApiKind:
    """Each API that is spoken."""
    kind: ApiKind = request.param
    return kind


def named(settings: Settings, kind: ApiKind) -> Settings:
    """Return settings that name a model of an API."""
    return settings.model_copy(update={"model": f"{kind}:{MODELS[kind]}"})


def environ(api: ModelApi) -> dict[str, str]:
    """Return the variables that lead every client to the server."""
    return {
        "ANTHROPIC_API_KEY": "sk-scripted",
        "ANTHROPIC_BASE_URL": api.url,
        "OPENAI_API_KEY": "sk-scripted",
        "OPENAI_BASE_URL": f"{api.url}/v1",
        "OLLAMA_HOST": api.url,
        "GEMINI_API_KEY": "sk-scripted",
        "GOOGLE_GEMINI_BASE_URL": api.url,
    }


async def backend_of(api: ModelApi, kind: ApiKind) -> ApiBackend:
    """Return the backend alone: one attempt a request."""
    url = api.url if kind in {"anthropic", "gemini"} else f"{api.url}/v1"
    return await connect(ApiOptions(kind=kind, model=MODELS[kind], base_url=url, api_key="sk-scripted"))


async def attempt(api: ModelApi, kind: ApiKind) -> ModelError:
    """Return the error that a single attempt ends with."""
    backend = await backend_of(api, kind)
    try:
        with pytest.raises(ModelError) as caught:
            await backend.send(Request(prompt="Hello"))
    finally:
        await backend.aclose()
    return caught.value


async def test_text_comes_with_its_usage_and_price(api: ModelApi, kind: ApiKind, settings: Settings) -> None:
    """The server gets the instructions apart from the task, the limit of tokens, and its key."""
    api.script(Says("A digest."))
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        completion = await model.complete(
            "Digest @/etc/passwd", purpose=PURPOSE, system="Be brief.", max_output_tokens=321
        )
    assert (completion.text, completion.model) == ("A digest.", MODELS[kind])
    usage = completion.usage
    assert (usage.input_tokens, usage.output_tokens) == (INPUT_TOKENS, OUTPUT_TOKENS)
    # A local model has no price on any list; the others cost a fraction of a cent.
    assert usage.cost_usd is None if kind == "ollama" else 0 < (usage.cost_usd or 0) < 0.01
    (asked,) = api.asked
    said = str(asked.body["contents" if kind == "gemini" else "messages"][-1])
    assert "Digest @/etc/passwd" in said
    assert "Be brief." not in said
    assert "Be brief." in asked.text
    limit = (
        asked.body["generationConfig"]["maxOutputTokens"] if kind == "gemini" else asked.body["max_tokens"]
    )
    assert limit == 321
    keys = {asked.headers.get(name) for name in ("x-api-key", "authorization", "x-goog-api-key")}
    assert kind == "ollama" or keys & {"sk-scripted", "Bearer sk-scripted"}


async def test_openai_itself_is_asked_with_its_own_name_of_the_limit(
    api: ModelApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``max_tokens``, the only name that imitations know, is refused by OpenAI's newer models."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{api.url}/v1")
    api.script(Says("There."))
    backend = await connect(ApiOptions(kind="openai", model="gpt-5-mini", base_url=None, api_key="sk"))
    await backend.send(Request(prompt="Hello", max_output_tokens=321))
    await backend.aclose()
    assert api.asked[0].body["max_completion_tokens"] == 321
    assert "max_tokens" not in api.asked[0].body


@pytest.mark.parametrize(
    "step", [Decides({"action": "edit", "target": 7}), Says('{"action":"edit","target":7}')]
)
async def test_an_object_comes_validated(
    api: ModelApi, kind: ApiKind, settings: Settings, step: Step
) -> None:
    """Whether the model uses the way that its API has for it, or writes JSON as text."""
    api.script(step)
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        completion = await model.complete("Decide.", purpose=PURPOSE, output=Decision)
    assert completion.value == Decision(action="edit", target=7)
    assert "new_content" in api.asked[0].text


async def test_an_invalid_object_is_mended_in_a_second_answer(
    api: ModelApi, kind: ApiKind, settings: Settings
) -> None:
    """The second request holds the first answer and its fault."""
    api.script(Decides({"action": "burn", "target": 7}), Decides({"action": "delete", "target": 7}))
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        completion = await model.complete("Decide.", purpose=PURPOSE, output=Decision)
        assert model.ledger.totals[PURPOSE].answers == 2
    assert completion.value == Decision(action="delete", target=7)
    assert completion.usage.input_tokens == 2 * INPUT_TOKENS
    assert "Input should be 'delete' or 'edit'" in api.asked[1].text
    assert "burn" in api.asked[1].text


@pytest.mark.parametrize("status", [429, 500, 503, 529])
async def test_a_busy_or_failing_server_is_unavailable(api: ModelApi, kind: ApiKind, status: int) -> None:
    """With the pause that it asks for; the client does not retry by itself."""
    api.script(Fails(status=status, retry_after_s=2))
    error = await attempt(api, kind)
    assert isinstance(error, ModelUnavailableError)
    assert error.retry_after_s == 2
    assert str(error) == f"{kind}:{MODELS[kind]} answered {status}: scripted failure"
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("status", "refused"),
    [
        (400, ModelRefusedError),
        (401, ModelAccessError),
        (402, ModelAccessError),
        (403, ModelRefusedError),
        (404, ModelAccessError),
        (422, ModelRefusedError),
    ],
)
async def test_a_request_that_is_refused_says_why(
    api: ModelApi, kind: ApiKind, status: int, refused: type[Exception]
) -> None:
    """Wrong key, name or request: no retry can help, and only the last says something about the request."""
    api.script(Fails(status=status, message="no such thing"))
    error = await attempt(api, kind)
    assert type(error) is refused
    assert f"{status}: no such thing" in str(error)
    assert len(api.asked) == 1


@pytest.mark.parametrize(
    ("code", "kind_of_error"),
    [
        (429, ModelUnavailableError),
        (502, ModelUnavailableError),
        ('"rate_limited"', ModelUnavailableError),
        (402, ModelAccessError),
        (400, ModelRefusedError),
    ],
)
async def test_an_error_with_the_status_200_is_an_error(
    api: ModelApi, code: int | str, kind_of_error: type[ModelError]
) -> None:
    """OpenRouter answers so when a provider behind it fails; its code is the status that counts."""
    body = f'{{"error": {{"message": "Provider returned error", "code": {code}}}, "user_id": "u"}}'
    api.script(Garbles(body, "application/json"))
    error = await attempt(api, "openai")
    assert type(error) is kind_of_error
    assert "Provider returned error" in str(error)


@pytest.mark.parametrize("step", [Cuts(), Cuts(midway=True)])
async def test_a_cut_connection_is_unavailable(api: ModelApi, kind: ApiKind, step: Step) -> None:
    """Before the answer or in the middle of it."""
    api.script(step)
    assert isinstance(await attempt(api, kind), ModelUnavailableError)


@pytest.mark.requirement("DIG-05.4")
async def test_a_refused_connection_is_unavailable_and_named(kind: ApiKind) -> None:
    """Nobody listens there any more; the error says where."""
    with ModelApi() as gone:
        pass
    error = await attempt(gone, kind)
    assert isinstance(error, ModelUnavailableError)
    assert f"{kind}:{MODELS[kind]} cannot be reached at {gone.url}" in str(error)


@pytest.mark.parametrize(
    "body",
    ["<html>It works!</html>", "{}", "[1]", "null", '"text"', '{"choices": []}', '{"content": 3}', '{"a', ""],
)
async def test_garbage_is_an_output_error(api: ModelApi, kind: ApiKind, body: str) -> None:
    """A 200 that is none of the API's never looks like an answer, and never raises something else."""
    api.script(Garbles(body, "application/json"))
    assert isinstance(await attempt(api, kind), ModelOutputError)
    api.script(Garbles(body, "text/html"))
    assert isinstance(await attempt(api, kind), ModelOutputError)


async def test_an_answer_that_was_cut_off_is_an_error(
    api: ModelApi, kind: ApiKind, settings: Settings
) -> None:
    """Both APIs say so, each in its words."""
    api.script(Says("Half of a", stop="max_tokens"))
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        with pytest.raises(ModelOutputError, match="max_output_tokens"):
            await model.complete("Digest.", purpose=PURPOSE)


async def test_failures_are_retried_until_an_answer_comes(
    api: ModelApi, kind: ApiKind, settings: Settings
) -> None:
    """Overloaded, cut, then there; the pause that the server asks for is kept."""
    api.script(Fails(status=529, retry_after_s=0.01), Cuts(), Says("There."))
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        assert (await model.complete("?", purpose=PURPOSE)).text == "There."
        assert model.ledger.totals[PURPOSE].unavailable == 2
    assert len(api.asked) == 3


@pytest.mark.requirement("APP-04.3")
async def test_a_server_that_hangs_is_left_in_time(api: ModelApi, kind: ApiKind, settings: Settings) -> None:
    """The same connection then serves the next call."""
    api.script(Says("Imported."), Hangs(), Says("There."))
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        await model.complete("?", purpose=PURPOSE)
        with pytest.raises(ModelTimeoutError):
            await model.complete("?", purpose=PURPOSE, timeout_s=1)
        assert (await model.complete("?", purpose=PURPOSE)).text == "There."


async def test_cancellation_reaches_the_client(api: ModelApi, kind: ApiKind, settings: Settings) -> None:
    """A call that is cancelled while the server hangs ends at once."""
    api.script(Hangs())
    async with open_model(named(settings, kind), environ=environ(api)) as model:
        task = asyncio.create_task(model.complete("?", purpose=PURPOSE))
        await asyncio.to_thread(api.wait_until_asked)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, DEADLINE_S)


async def test_a_compatible_server_needs_no_key(api: ModelApi, settings: Settings) -> None:
    """``OPENAI_BASE_URL`` alone is enough."""
    api.script(Says("There."))
    alone = {"OPENAI_BASE_URL": f"{api.url}/v1"}
    async with open_model(named(settings, "openai"), environ=alone) as model:
        assert (await model.complete("?", purpose=PURPOSE)).text == "There."


class _Elsewhere(BaseHTTPRequestHandler):
    """A server that leads each request to another server."""

    target: ClassVar[str] = ""

    def do_POST(self) -> None:
        """Redirect the request, which keeps its body and, in some clients, its key."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(307)
        self.send_header("Location", f"{self.target}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Log nothing."""


@pytest.mark.requirement("HRD-08.1")
async def test_a_redirect_is_not_followed(api: ModelApi, kind: ApiKind) -> None:
    """The prompt and the key go to the address of the settings only."""
    _Elsewhere.target = api.url
    api.script(Says("There."))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    with server, ThreadPoolExecutor(1) as threads:
        redirecting = threads.submit(server.serve_forever)
        url = f"http://127.0.0.1:{server.server_port}" + ("" if kind in {"anthropic", "gemini"} else "/v1")
        options = ApiOptions(kind=kind, model=MODELS[kind], base_url=url, api_key="sk-scripted")
        backend = await connect(options)
        try:
            with pytest.raises(ModelError):
                await backend.send(Request(prompt="Hello"))
        finally:
            await backend.aclose()
            server.shutdown()
            redirecting.result()
    assert api.asked == []
