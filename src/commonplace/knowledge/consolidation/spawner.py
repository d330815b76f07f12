"""What asks a language model to consolidate: anything that takes the prompt and gives the answer as text."""

from dataclasses import dataclass
from typing import Final, Protocol

from commonplace.core.errors import ModelCannotError
from commonplace.knowledge.consolidation.policy import Policy
from commonplace.llm import Model

TRIGGER_SOURCE: Final = "schedule:consolidation"
"""What starts a session for consolidation. Source: KNW-12.2."""

PURPOSE: Final = "consolidation"

MAX_ANSWER_TOKENS: Final = 8192
"""Room for some sixty facts of a hundred tokens and the words around them; an answer that is cut off is lost."""


class Spawner(Protocol):
    """Starts a session of a language model, and returns what it says at its end."""

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Give the model a prompt.

        Args:
            prompt: The whole of it.
            trigger_source: :data:`TRIGGER_SOURCE`, for whoever records sessions.
        """
        ...


@dataclass(frozen=True, slots=True)
class ModelSpawner:
    """A spawner over the port for language models.

    Args:
        model: Which; its budget and its count of tokens apply, under the purpose ``consolidation``.
        timeout_s: What it has for an answer, retries included.
    """

    model: Model
    timeout_s: float

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    async def __call__(self, prompt: str, *, trigger_source: str) -> str:
        """Ask the model once.

        Raises:
            ModelError: It gives no answer, or cannot consolidate, because it only picks sentences.
        """
        del trigger_source  # the port keeps no record of sessions; tokens are counted by purpose
        if self.model.extractive:
            raise ModelCannotError(NO_LANGUAGE_MODEL)
        completion = await self.model.complete(
            prompt, purpose=PURPOSE, timeout_s=self.timeout_s, max_output_tokens=MAX_ANSWER_TOKENS
        )
        return completion.text


NOT_ASKED: Final = "no model was asked: the episodes that wait were counted, and nothing was changed"

NO_LANGUAGE_MODEL: Final = (
    "no language model is set, and picking sentences is not consolidating: the episodes that wait were counted, and "
    "nothing was changed; set COMMONPLACE_MODEL"
)


def model_spawner(model: Model, *, policy: Policy | None = None) -> ModelSpawner | None:
    """Return a spawner over a model; ``None``, which is the dry run, where the model only picks sentences."""
    return None if model.extractive else ModelSpawner(model, (policy or Policy()).timeout_s)


def name_of(spawner: Spawner) -> str | None:
    """Return the name of the model behind a spawner, where it says one."""
    name = getattr(spawner, "name", None)
    return name if isinstance(name, str) else None
