"""OpenAI's chat completions as gateways answer them. It needs the extra ``openai``."""

from http import HTTPStatus
from typing import Any, Final, cast

from openai.types.chat import ChatCompletion
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel

_ERRORS: Final = range(400, 600)


class CompatibleModel(OpenAIChatModel):
    """A model behind OpenAI's protocol whose server may report an error with status 200, as OpenRouter does."""

    def _validate_completion(self, response: ChatCompletion) -> Any:  # noqa: ANN401 - the client's own class
        """Check an answer.

        Raises:
            ModelHTTPError: The answer is an error; its code is the status that the server would use.
        """
        error = (response.model_extra or {}).get("error")
        if isinstance(error, dict) and not response.choices:
            code = cast("dict[str, Any]", error).get("code")
            status = code if isinstance(code, int) and code in _ERRORS else HTTPStatus.BAD_GATEWAY
            raise ModelHTTPError(status_code=status, model_name=self.model_name, body=cast("object", error))
        return super()._validate_completion(response)
