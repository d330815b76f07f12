"""Models behind an API, through pydantic-ai: Anthropic, OpenAI, compatible servers, and Ollama.

It needs the extra ``anthropic`` or ``openai``. The first call of such a model imports it, which takes one to two
seconds.
"""

from typing import Any, Final, cast

import pydantic_ai.exceptions as failures
from pydantic import BaseModel
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from commonplace.core.errors import (
    ModelAccessError,
    ModelError,
    ModelOutputError,
    ModelRefusedError,
    ModelUnavailableError,
)
from commonplace.llm.backend import Reply, Request, Usage
from commonplace.llm.options import ApiOptions

_ANSWER_TOOL: Final = "answer"


async def connect(options: ApiOptions) -> "ApiBackend":
    """Return the backend; the first request connects."""
    model = _anthropic(options) if options.kind == "anthropic" else _openai(options)
    await model.__aenter__()
    return ApiBackend(model, options)


class ApiBackend:
    """A model behind an API."""

    def __init__(self, model: Model[Any], options: ApiOptions) -> None:
        self._model = model
        self._name = f"{options.kind}:{options.model}"
        # Small local models follow a schema much better if the server enforces it.
        self._native_output = options.kind == "ollama"

    async def send(self, request: Request) -> Reply:
        """Send a request once, without the client's own retries.

        Raises:
            ModelUnavailableError: The API answered 429 or a server error, or cannot be reached.
            ModelRefusedError: The API refused the request, or filtered the answer.
            ModelAccessError: The API refused the key, the account or the model's name.
            ModelOutputError: The answer does not have the API's form.
        """
        try:
            response = await model_request(
                self._model,
                [ModelRequest.user_text_prompt(request.prompt, instructions=request.system)],
                model_settings=ModelSettings(
                    max_tokens=request.max_output_tokens, max_retries=0, thinking=False
                ),
                model_request_parameters=self._parameters(request.output),
            )
        except failures.AgentRunError as error:
            raise self._translated(error) from error
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # The clients raise these for a 200 whose JSON does not have the API's form.
            raise ModelOutputError(
                f"{self._name} sent an answer that does not have the form of its API: {error}"
            ) from error
        return self._reply(response)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._model.__aexit__(None, None, None)

    def _parameters(self, output: type[BaseModel] | None) -> ModelRequestParameters | None:
        if output is None:
            return None
        schema = output.model_json_schema()
        if self._native_output:
            form = OutputObjectDefinition(name=output.__name__, json_schema=schema)
            return ModelRequestParameters(output_mode="native", output_object=form)
        tool = ToolDefinition(
            name=_ANSWER_TOOL,
            description="Gives the answer.",
            parameters_json_schema=schema,
            kind="output",
        )
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)

    def _reply(self, response: ModelResponse) -> Reply:
        if response.finish_reason == "content_filter":
            raise ModelRefusedError(f"{self._name} declined to answer")
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

    def _translated(self, error: failures.AgentRunError) -> ModelError:
        message = f"{self._name}: {error.message}"
        if isinstance(error, failures.ModelHTTPError):
            message = f"{self._name} answered {error.status_code}: {_detail(error)}"
        match error:
            case (
                failures.ModelRateLimitError()
                | failures.ModelUnavailableError()
                | failures.ModelServerError()
                | failures.ModelConnectionError()
            ):
                return ModelUnavailableError(message, retry_after_s=error.retry_after)
            case failures.ModelHTTPError(status_code=403):
                return ModelRefusedError(
                    message
                )  # The key lacks a permission, or a filter blocks the request.
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


def _anthropic(options: ApiOptions) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - only this extra may be installed
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    provider = AnthropicProvider(api_key=options.api_key, base_url=options.base_url)
    return AnthropicModel(options.model, provider=provider)


def _openai(options: ApiOptions) -> Model[Any]:
    from pydantic_ai.models.ollama import OllamaModel  # noqa: PLC0415 - only the other extra may be installed
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    # OpenAI expects max_completion_tokens; compatible servers know only max_tokens.
    imitated = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    if options.kind == "ollama":
        local = OllamaProvider(base_url=options.base_url, api_key=options.api_key)
        return OllamaModel(options.model, provider=local, profile=imitated)
    provider = OpenAIProvider(base_url=options.base_url, api_key=options.api_key)
    return OpenAIChatModel(options.model, provider=provider, profile=imitated if options.base_url else None)


def _price(response: ModelResponse) -> float | None:
    """Return the list price in US dollars; ``None`` if the model is not on the list."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None


def _detail(error: failures.ModelHTTPError) -> str:
    """Return the server's error message from the body."""
    body = _mapping(error.body)
    return str((_mapping(body.get("error")) or body).get("message") or error.body or error.message)


def _mapping(body: object) -> dict[str, object]:
    return cast("dict[str, object]", body) if isinstance(body, dict) else {}
