"""The clients of pydantic-ai for each API; each needs the extra of its API."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_ai.models import Model

from commonplace.llm.dialect import LimitName
from commonplace.llm.options import ApiKind, ApiOptions

Clients = Mapping[LimitName, Model[Any]]
"""One client per name of the token limit, the likeliest first. They share their connections."""


def _anthropic(options: ApiOptions) -> Clients:
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - only this extra may be installed
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    provider = AnthropicProvider(api_key=options.api_key, base_url=options.base_url)
    return {LimitName.OLD: AnthropicModel(options.model, provider=provider)}


def _gemini(options: ApiOptions) -> Clients:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    provider = GoogleProvider(api_key=options.api_key, base_url=options.base_url)
    return {LimitName.OLD: GoogleModel(options.model, provider=provider)}


def _openai(options: ApiOptions) -> Clients:
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415 - likewise
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    from commonplace.llm.compatible import CompatibleModel  # noqa: PLC0415

    provider = OpenAIProvider(base_url=options.base_url, api_key=options.api_key)
    # OpenAI expects the new name; most compatible servers know only the old one.
    names = (LimitName.OLD, LimitName.NEW) if options.base_url else (LimitName.NEW, LimitName.OLD)
    imitated = OpenAIModelProfile(
        supports_json_schema_output=True,
        # A server that ignores the schema, or uses it only to mask tokens, does not show the schema to the model.
        native_output_requires_schema_in_instructions=True,
        openai_supports_strict_tool_definition=False,
    )

    def client(name: LimitName) -> Model[Any]:
        limit = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=name is LimitName.NEW)
        profile = OpenAIModelProfile(**(imitated | limit)) if options.base_url else limit
        return CompatibleModel(options.model, provider=provider, profile=profile)

    return {name: client(name) for name in names}


def _ollama(options: ApiOptions) -> Clients:
    from pydantic_ai.models.ollama import OllamaModel  # noqa: PLC0415 - likewise
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415
    from pydantic_ai.providers.ollama import OllamaProvider  # noqa: PLC0415

    provider = OllamaProvider(base_url=options.base_url, api_key=options.api_key)
    profile = OpenAIModelProfile(
        openai_chat_supports_max_completion_tokens=False,
        native_output_requires_schema_in_instructions=True,
    )
    return {LimitName.OLD: OllamaModel(options.model, provider=provider, profile=profile)}


MAKERS: Final[Mapping[ApiKind, Callable[[ApiOptions], Clients]]] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
    "openai": _openai,
    "ollama": _ollama,
}
