"""Models behind an API, through pydantic-ai: Anthropic, Gemini, OpenAI, compatible servers, and Ollama.

It needs the extra ``anthropic``, ``gemini`` or ``openai``. The first call of such a model imports it, which takes one
to two seconds.
"""

from dataclasses import replace
from typing import Any, Final

import pydantic_ai.exceptions as failures
from pydantic import BaseModel
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from commonplace.core.errors import ModelOutputError, ModelRefusedError
from commonplace.core.urls import mask_url
from commonplace.llm.answers import AnswerError, form_of, read_answer
from commonplace.llm.api_clients import MAKERS
from commonplace.llm.api_errors import body_of, translated
from commonplace.llm.backend import Reply, Request, Usage
from commonplace.llm.dialect import AnswerForm, Dialect, DialectFile, refuses_form, refuses_limit
from commonplace.llm.options import ApiKind, ApiOptions

_ANSWER_TOOL: Final = "answer"
_FORMS: Final[dict[ApiKind, tuple[AnswerForm, ...]]] = {
    "anthropic": (AnswerForm.TOOL,),
    "gemini": (AnswerForm.TOOL,),
    "openai": (AnswerForm.TOOL, AnswerForm.SCHEMA, AnswerForm.TEXT),
    # Small local models follow a schema much better if the server enforces it.
    "ollama": (AnswerForm.SCHEMA, AnswerForm.TEXT),
}
"""The forms that a server of each API may accept, best first."""


async def connect(options: ApiOptions) -> "ApiBackend":
    """Return the backend; the first request connects."""
    backend = ApiBackend(options)
    await backend.open()
    return backend


class ApiBackend:
    """A model behind an API."""

    def __init__(self, options: ApiOptions) -> None:
        self._name = f"{options.kind}:{options.model}"
        self._clients = MAKERS[options.kind](options)
        self._limit, self._owner = next(iter(self._clients.items()))
        self.address = mask_url(str(self._owner.base_url)).rstrip("/")
        self._forms = _FORMS[options.kind]
        self._form: AnswerForm = self._forms[0]
        self._proven = len(self._forms) == 1
        self._file = None
        if options.dialects is not None and not self._proven:
            self._file = DialectFile.of(
                options.dialects, model=self._name, base_url=str(self._owner.base_url)
            )
            self._begin_with(self._file.load())

    async def open(self) -> None:
        """Open the connections."""
        await self._owner.__aenter__()

    async def send(self, request: Request) -> Reply:
        """Send a request without the client's own retries.

        If the server refuses or ignores the form of the answer, the request is sent again in another form.

        Raises:
            ModelUnavailableError: The API answered 429 or a server error, or cannot be reached.
            ModelRefusedError: The API refused the request, or filtered the answer.
            ModelAccessError: The API refused the key, the account or the model's name.
            ModelOutputError: The answer does not have the API's form.
        """
        try:
            if request.output is None:
                return self._reply(await self._ask(request))
            return await self._send_formed(request, request.output)
        except failures.AgentRunError as error:
            raise translated(error, name=self._name, address=self.address) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # The clients raise these errors for a 200 response whose JSON does not have the API's form.
            raise ModelOutputError(
                f"{self._name} sent an answer that does not have the form of its API: {error}"
            ) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._owner.__aexit__(None, None, None)

    async def _send_formed(self, request: Request, output: type[BaseModel]) -> Reply:
        """Send a request in the first form that the server accepts."""
        spent = Usage()
        refusal: failures.ModelHTTPError | None = None
        for form in dict.fromkeys((self._form, *self._forms)):
            proven = self._proven and form is self._form
            try:
                response = await self._ask(request, form)
            except failures.ModelHTTPError as error:
                if not _refuses_form(error, proven=proven):
                    raise
                refusal = refusal or error
                continue
            reply = self._reply(response)
            spent += reply.usage
            if _has_object(response, reply, output):
                self._remember(form=form)
            elif form is AnswerForm.TOOL and not proven and not reply.cut_off:
                continue  # The server ignores tools, so the model has not seen the schema.
            return replace(reply, usage=spent)
        raise refusal or ModelOutputError(f"{self._name} did not answer any form of request with an object")

    async def _ask(self, request: Request, form: AnswerForm | None = None) -> ModelResponse:
        """Send a request once, or once more if the server refuses the name of the token limit."""
        try:
            return await self._send_once(self._clients[self._limit], request, form)
        except failures.ModelHTTPError as error:
            other = self._clients.get(self._limit.other)
            if other is None or not refuses_limit(error.status_code, body_of(error)):
                raise
        response = await self._send_once(other, request, form)
        self._limit = self._limit.other
        self._save()
        return response

    async def _send_once(
        self, client: Model[Any], request: Request, form: AnswerForm | None
    ) -> ModelResponse:
        prompt, parameters = request.prompt, None
        if request.output is not None and form is AnswerForm.TEXT:
            prompt = f"{prompt}\n\n{form_of(request.output)}"
        elif request.output is not None:
            parameters = _parameters(request.output, form)
        return await model_request(
            client,
            [ModelRequest.user_text_prompt(prompt, instructions=request.system)],
            model_settings=ModelSettings(max_tokens=request.max_output_tokens, max_retries=0, thinking=False),
            model_request_parameters=parameters,
        )

    def _begin_with(self, dialect: Dialect | None) -> None:
        """Begin with the dialect that the server accepted in an earlier process; the server may have changed since."""
        if dialect is not None and dialect.form in self._forms and dialect.limit in self._clients:
            self._form, self._limit = dialect.form, dialect.limit

    def _remember(self, *, form: AnswerForm) -> None:
        if self._proven and form is self._form:
            return
        self._form, self._proven = form, True
        self._save()

    def _save(self) -> None:
        if self._file is not None:
            self._file.save(Dialect(form=self._form, limit=self._limit))

    def _reply(self, response: ModelResponse) -> Reply:
        if response.finish_reason == "content_filter":
            raise ModelRefusedError(f"{self._name} declined to answer")
        if response.finish_reason is None and not response.parts:
            raise ModelOutputError(
                f"{self._name} sent an answer that does not have the form of its API: no text"
            )
        calls = response.tool_calls
        return Reply(
            text=calls[0].args_as_json_str() if calls else response.text or "",
            model=response.model_name or self._name,
            usage=Usage(
                input_tokens=response.usage.input_tokens,
                output_tokens=response.usage.output_tokens,
                cost_usd=_price(response),
            ),
            cut_off=response.finish_reason == "length",
        )


def _parameters(output: type[BaseModel], form: AnswerForm | None) -> ModelRequestParameters:
    schema = output.model_json_schema()
    if form is AnswerForm.SCHEMA:
        answer = OutputObjectDefinition(name=output.__name__, json_schema=schema)
        return ModelRequestParameters(output_mode="native", output_object=answer)
    tool = ToolDefinition(
        name=_ANSWER_TOOL, description="Gives the answer.", parameters_json_schema=schema, kind="output"
    )
    return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)


def _refuses_form(error: failures.ModelHTTPError, *, proven: bool) -> bool:
    if isinstance(error, failures.ModelContextWindowExceededError):
        return False
    return refuses_form(error.status_code, body_of(error), proven=proven)


def _has_object(response: ModelResponse, reply: Reply, output: type[BaseModel]) -> bool:
    """Return whether an answer has an object: as tool arguments, or as a valid object in its text."""
    if response.tool_calls:
        return True
    try:
        read_answer(reply.text, output)
    except AnswerError:
        return False
    return True


def _price(response: ModelResponse) -> float | None:
    """Return the list price in US dollars; ``None`` if the model is not on the list."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
